//! `sort`: the contract of S. Takeuchi, "Do not call everything a bug". People sorted by age, in place,
//! behind `int sort(struct person *a[], int len)`.

use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};

use crate::blame::contract::{Aspect, Clause, Condition, Contract, Says, Specification};
use crate::blame::listed::listed;
use crate::blame::wire::{Reader, Writer};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::blame) struct People {
    pub(in crate::blame) ages: Vec<i32>,
    /// The length that is passed.
    pub(in crate::blame) len: i32,
    /// Whether a watcher did not look at all of the array: there may be persons beyond those of `ages`.
    pub(in crate::blame) partly_seen: bool,
}

impl People {
    fn aged(ages: Vec<i32>) -> Self {
        let len = i32::try_from(ages.len()).unwrap_or(i32::MAX);
        Self { ages, len, partly_seen: false }
    }

    /// Nobody, and a length that says less than that.
    fn short(len: i32) -> Self {
        Self { len, ..Self::aged(Vec::new()) }
    }

    /// Whether success is promised.
    fn sortable(&self) -> bool {
        self.len >= 1 && !self.has_negative()
    }

    fn has_negative(&self) -> bool {
        self.ages.iter().any(|&age| age < 0)
    }

    /// The ages at the places of the array that hold a person.
    fn aged_after<'a>(&'a self, sorted: &'a Sorted) -> impl Iterator<Item = i32> + 'a {
        sorted.places.iter().filter_map(|&place| self.ages.get(usize::try_from(place).ok()?).copied())
    }
}

/// What came of a call that returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::blame) struct Sorted {
    pub(in crate::blame) returned: i32,
    /// Which person each place of the array holds, by its place before the call: negative for nobody (−1 a
    /// null pointer, −2 a stranger). A pointer says who a person is, and its age does not.
    pub(in crate::blame) places: Vec<i32>,
    /// Whether anything about a person was changed: its age, its name, or which name it has.
    pub(in crate::blame) altered: bool,
    /// Whether memory around the array was written to.
    pub(in crate::blame) outside: bool,
}

impl Sorted {
    fn complete(&self) -> bool {
        let mut places = self.places.clone();
        places.sort_unstable();
        places.iter().enumerate().all(|(place, &person)| usize::try_from(person) == Ok(place))
    }
}

const NULL: i32 = -1;

const OUTSIDE: Clause<People, Sorted> = Clause {
    text: "no memory is touched but a[] and the persons in it",
    applies: |_| true,
    says: Says::Confines { kept: |_, sorted| !sorted.outside, broken: "writes beside a[]" },
};
const SUCCESS: Clause<People, Sorted> = Clause {
    text: "0 is returned: every age is 0 or more and len is 1 or more",
    applies: People::sortable,
    says: Says::Promises { kept: |_, sorted| sorted.returned == 0, broken: "does not report success" },
};
const NEGATIVE: Clause<People, Sorted> = Clause {
    text: "1 is returned: an age is below 0",
    applies: |people| people.len >= 1 && people.has_negative(),
    says: Says::Promises { kept: |_, sorted| sorted.returned == 1, broken: "does not report an age below 0" },
};
const SHORT: Clause<People, Sorted> = Clause {
    text: "1 is returned: len is below 1",
    applies: |people| people.len < 1,
    says: Says::Promises { kept: |_, sorted| sorted.returned == 1, broken: "does not report a len below 1" },
};
const SHORT_UNDEFINED: Clause<People, Sorted> =
    Clause { text: "a len below 0 is undefined", applies: |people| people.len < 0, says: Says::Undefined };
const UNALTERED: Clause<People, Sorted> = Clause {
    text: "the persons in a[] stay as they are",
    applies: People::sortable,
    says: Says::Promises { kept: |_, sorted| !sorted.altered, broken: "alters a person" },
};
const COMPLETE: Clause<People, Sorted> = Clause {
    text: "a[] itself is sorted: it holds the persons that it held, each once",
    applies: People::sortable,
    says: Says::Promises { kept: |_, sorted| sorted.complete(), broken: "loses a person" },
};
const ASCENDING: Clause<People, Sorted> = Clause {
    text: "a[0]->age <= a[1]->age <= ... <= a[len - 1]->age",
    applies: People::sortable,
    says: Says::Promises {
        kept: |people, sorted| people.aged_after(sorted).is_sorted(),
        broken: "leaves an a[] that does not ascend",
    },
};
const DESCENDING: Clause<People, Sorted> = Clause {
    text: "a[0]->age >= a[1]->age >= ... >= a[len - 1]->age",
    applies: People::sortable,
    says: Says::Promises {
        kept: |people, sorted| people.aged_after(sorted).is_sorted_by(|one, next| one >= next),
        broken: "leaves an a[] that does not descend",
    },
};
const STRICT: Clause<People, Sorted> = Clause {
    text: "a[0]->age < a[1]->age < ... < a[len - 1]->age",
    applies: People::sortable,
    says: Says::Promises {
        kept: |people, sorted| people.aged_after(sorted).is_sorted_by(|one, next| one < next),
        broken: "leaves an a[] that does not ascend strictly",
    },
};

/// The text as published and, after it, what its author calls errors of a specification, each alone.
const SPECIFICATIONS: &[Specification<People, Sorted>] = &[
    Specification {
        name: "ascending",
        about: "as published: by age, ascending, in place",
        clauses: &[SUCCESS, NEGATIVE, SHORT, OUTSIDE, UNALTERED, COMPLETE, ASCENDING],
    },
    Specification {
        name: "descending",
        about: "altered: the order is not the one required",
        clauses: &[SUCCESS, NEGATIVE, SHORT, OUTSIDE, UNALTERED, COMPLETE, DESCENDING],
    },
    Specification {
        name: "strict",
        about: "altered: an order that equal ages cannot have",
        clauses: &[SUCCESS, NEGATIVE, SHORT, OUTSIDE, UNALTERED, COMPLETE, STRICT],
    },
    Specification {
        name: "undefined",
        about: "altered: a len below 0 is undefined in one line and answered by 1 in another",
        clauses: &[SUCCESS, NEGATIVE, SHORT, SHORT_UNDEFINED, OUTSIDE, UNALTERED, COMPLETE, ASCENDING],
    },
];

/// Whether persons of one age stand in the order in which they stood; none where there are no two of one age.
fn stability(people: &People, sorted: &Sorted) -> Option<&'static str> {
    let mut ages = people.ages.clone();
    ages.sort_unstable();
    let equals = ages.windows(2).any(|pair| pair[0] == pair[1]);
    if !people.sortable() || !equals || !sorted.complete() {
        return None;
    }
    let age = |person: i32| usize::try_from(person).ok().and_then(|person| people.ages.get(person));
    let ordered = |pair: &[i32]| age(pair[0]) != age(pair[1]) || pair[0] < pair[1];
    Some(if sorted.places.windows(2).all(ordered) { "stable" } else { "not stable" })
}

fn after_failure(people: &People, sorted: &Sorted) -> Option<&'static str> {
    let failed = sorted.returned == 1 && people.has_negative();
    failed.then(|| match (sorted.complete(), sorted.places.is_sorted(), sorted.altered) {
        (true, true, false) => "left as it was",
        (true, false, false) => "in another order",
        _ => "no longer what it was",
    })
}

const ASPECTS: &[Aspect<People, Sorted>] = &[
    Aspect {
        name: "stability",
        answer: stability,
        claim: "stable",
        covers: |people, one, other| {
            one.returned == other.returned
                && people.aged_after(one).eq(people.aged_after(other))
                && (one.complete(), other.complete()) == (true, true)
                && (one.altered, one.outside) == (other.altered, other.outside)
        },
    },
    Aspect {
        name: "the array after a failure",
        answer: after_failure,
        claim: "left as it was",
        covers: |_, one, other| (one.returned, other.returned, one.outside == other.outside) == (1, 1, true),
    },
];

/// No persons, then every choice of up to three of the ages 0, 1, 2 and −1, then of four of the ages 0 and 1.
fn small() -> Vec<People> {
    let mut inputs = vec![People::aged(Vec::new()), People::short(-1)];
    for (count, ages) in [(1, &[0, 1, 2, -1][..]), (2, &[0, 1, 2, -1]), (3, &[0, 1, 2, -1]), (4, &[0, 1])] {
        let choices = ages.len().pow(count);
        inputs.extend((0..choices).map(|choice| {
            let digit = |place: u32| ages[choice / ages.len().pow(count - 1 - place) % ages.len()];
            People::aged((0..count).map(digit).collect())
        }));
    }
    inputs
}

/// Up to forty persons, often of one age, seldom of one below 0, and now and then a len below 1.
fn people() -> BoxedStrategy<People> {
    let usual = vec(prop_oneof![4 => 0..10_i32, 1 => 0..=i32::MAX], 1..40);
    let negative = vec(prop_oneof![3 => 0..10_i32, 1 => any::<i32>()], 1..12);
    let short = prop_oneof![Just(0), Just(-1), i32::MIN..0];
    prop_oneof![
        8 => usual.prop_map(People::aged),
        2 => negative.prop_map(People::aged),
        1 => short.prop_map(People::short),
    ]
    .boxed()
}

/// The ages at both ends of their type, and orders of so many persons that a simple sort and a clever one
/// part ways.
fn large() -> Vec<People> {
    const COUNT: i32 = 300;
    let (least, most) = (i32::MIN, i32::MAX);
    let ends = [vec![most], vec![most, 0], vec![most, most, 0], vec![least], vec![0, least, most]];
    let orders: [fn(i32) -> i32; 4] = [|at| at, |at| COUNT - at, |_| 7, |at| at.wrapping_mul(7919) % 101];
    let crowds =
        [100, COUNT].into_iter().flat_map(|count| orders.map(|order| (0..count).map(order).collect()));
    ends.into_iter().chain(crowds).map(People::aged).collect()
}

/// One person fewer, or one younger.
fn smaller(people: &People) -> Vec<People> {
    let ages = &people.ages;
    let mut smaller = Vec::new();
    if people.len < -1 {
        smaller.extend([-1, people.len / 2].map(|len| People { len, ..people.clone() }));
    }
    if ages.len() > 40 {
        smaller
            .extend([ages.len() / 2, ages.len() / 8 * 7].map(|count| People::aged(ages[..count].to_vec())));
    }
    for place in 0..ages.len() {
        smaller.push(People::aged([&ages[..place], &ages[place + 1..]].concat()));
    }
    for (place, &age) in ages.iter().enumerate() {
        // Parts of the age that become less, so that any age is near in few steps.
        let parts = (1..=21).step_by(4).map(|halvings| age - age / (1 << halvings));
        let (least, next) = if age < 0 { (-1, age.saturating_add(1)) } else { (0, age - 1) };
        let younger = [least].into_iter().chain(parts).chain([next]);
        // Each is nearer to nought than the age was: so this comes to an end.
        for younger in younger.filter(|it| (*it < 0) == (age < 0) && it.abs_diff(0) < age.abs_diff(0)) {
            let mut ages = ages.clone();
            ages[place] = younger;
            smaller.push(People::aged(ages));
        }
    }
    smaller
}

/// Every value of interest, with everything that could stand at each place.
fn outcomes(people: &People) -> Option<Vec<Sorted>> {
    let count = u32::try_from(people.ages.len()).ok().filter(|&count| count <= 4)?;
    let choices = count + 1;
    let mut outcomes = Vec::new();
    for (returned, choice) in
        (0..=2).flat_map(|returned| (0..choices.pow(count)).map(move |it| (returned, it)))
    {
        let person = |place: u32| (choice / choices.pow(count - 1 - place) % choices) as i32;
        let places: Vec<i32> =
            (0..count).map(person).map(|it| if it == count as i32 { NULL } else { it }).collect();
        for (altered, outside) in [(false, false), (true, false), (false, true), (true, true)] {
            outcomes.push(Sorted { returned, places: places.clone(), altered, outside });
        }
    }
    Some(outcomes)
}

fn show_people(people: &People) -> String {
    let short = if usize::try_from(people.len) == Ok(people.ages.len()) && people.len > 0 {
        String::new()
    } else {
        format!(", len {}", people.len)
    };
    let partly = if people.partly_seen { ", not all of which were looked at" } else { "" };
    format!("ages {}{short}{partly}", listed(people.ages.iter().map(i32::to_string)))
}

fn show_sorted(people: &People, sorted: &Sorted) -> String {
    let shown = |&person: &i32| match usize::try_from(person).ok().and_then(|it| people.ages.get(it)) {
        Some(age) if people.ages.iter().filter(|other| *other == age).nth(1).is_some() => {
            format!("{age} (was at {person})")
        }
        Some(age) => age.to_string(),
        None if person == NULL => "NULL".into(),
        None => "a stranger".into(),
    };
    let places = listed(sorted.places.iter().map(shown));
    let altered = if sorted.altered { ", and a person was altered" } else { "" };
    let outside = if sorted.outside { ", and memory outside a[] was written to" } else { "" };
    format!("returned {}, ages {places}{altered}{outside}", sorted.returned)
}

fn decode_people(bytes: &[u8]) -> Option<People> {
    let mut reader = Reader(bytes);
    let (len, partly_seen, count) = (reader.word()?, reader.word()? != 0, reader.word()?);
    let ages = reader.words(usize::try_from(count).ok()?)?;
    reader.end()?;
    Some(People { ages, len, partly_seen })
}

fn decode_sorted(people: &People, bytes: &[u8]) -> Option<Sorted> {
    let mut reader = Reader(bytes);
    let (returned, altered, outside) = (reader.word()?, reader.word()?, reader.word()?);
    let places = reader.words(people.ages.len())?;
    reader.end()?;
    Some(Sorted { returned, places, altered: altered != 0, outside: outside != 0 })
}

/// The array lies in memory of its own between guard pages, and so do persons and names.
const CALL: &str = r#"
struct person { char *name; int age; };

/* All eight bytes count, those behind the end of the name too. */
static void name_person(char name[8], int number)
{
    memset(name, 0, 8);
    snprintf(name, 8, "p%d", number % 1000);
}

static void call(void *function)
{
    int len = take(), partly_seen = take(), count = take();
    (void)partly_seen;
    struct person **a = guarded("a[]", (size_t)count * sizeof *a);
    struct person *persons = guarded("the persons", (size_t)count * sizeof *persons);
    char (*names)[8] = guarded("the names", (size_t)count * sizeof *names);
    struct person *before = kept((size_t)count * sizeof *before);
    for (int i = 0; i < count; i++) {
        name_person(names[i], i);
        before[i] = persons[i] = (struct person){ names[i], take() };
        a[i] = &persons[i];
    }
    int (*sort)(struct person **, int) = (int (*)(struct person **, int))function;
    give(sort(a, len));
    int altered = 0;
    for (int i = 0; i < count; i++) {
        char name[8];
        name_person(name, i);
        altered |= persons[i].name != before[i].name || persons[i].age != before[i].age
                   || memcmp(name, names[i], sizeof name) != 0;
    }
    give(altered);
    give(!untouched());
    for (int i = 0; i < count; i++) {
        size_t bytes = (size_t)((char *)a[i] - (char *)persons);
        if (a[i] == NULL)
            give(-1);
        else if (a[i] < persons || bytes / sizeof *persons >= (size_t)count || bytes % sizeof *persons)
            give(-2);
        else
            give((int)(bytes / sizeof *persons));
    }
}
"#;

/// What the caller's memory holds is read through the kernel, which says where there is none.
const WATCH: &str = r#"
struct person { char *name; int age; };
struct seen { struct person *who; struct person was; int used; };

int sort(struct person *a[], int len)
{
    int (*next)(struct person **, int) = (int (*)(struct person **, int))next_function();
    if (!enter())
        return next(a, len);
    int count = 0, readable = 1, most = len < 0 ? 0 : len > 100000 ? 100000 : len;
    struct seen *seen = pages((size_t)most * sizeof *seen);
    for (; seen && count < most; count++) {
        readable = peek(&seen[count].who, &a[count], sizeof seen->who);
        if (readable == 1)
            readable = peek(&seen[count].was, seen[count].who, sizeof seen->was);
        if (readable != 1)
            break;
    }
    /* Who is missing was looked for; of others nothing is known. */
    int partly_seen = readable < 0 || !seen || (count == most && most < len);
    open_record((size_t)count * sizeof(int) + 64);
    give(len);
    give(partly_seen);
    give(count);
    for (int i = 0; i < count; i++)
        give(seen[i].was.age);
    /* Who is who takes the square of the length; of a longer array only that it came back is told. */
    int judged = len > 0 && count == len && count <= 1000;
    uint32_t number = called(!partly_seen);
    leave();
    FORWARDING(partly_seen ? 0 : number);
    int returned = next(a, len);
    FORWARDED();
    if (enter()) {
        if (!judged && !partly_seen && number) {
            open_record(0);
            returned_from(number);
        } else if (judged && number) {
            int altered = 0;
            open_record((size_t)count * sizeof(int) + 64);
            give(returned);
            for (int i = 0; i < count; i++) {
                struct person now;
                altered |= !peek(&now, seen[i].who, sizeof now) || now.name != seen[i].was.name
                           || now.age != seen[i].was.age;
            }
            give(altered);
            give(0);
            for (int i = 0; i < count; i++) {
                struct person *who = NULL;
                int person = peek(&who, &a[i], sizeof who) == 1 && who ? -2 : -1;
                for (int j = 0; j < count; j++)
                    if (!seen[j].used && seen[j].who == who) {
                        seen[j].used = 1;
                        person = j;
                        break;
                    }
                give(person);
            }
            returned_from(number);
        }
        unmap(seen, (size_t)most * sizeof *seen);
        leave();
    }
    return returned;
}
"#;

pub(in crate::blame) static CONTRACT: Contract<People, Sorted> = Contract {
    name: "sort",
    symbol: "sort",
    prototype: "int sort(struct person *a[], int len), with struct person { char *name; int age; }",
    requirement: "All persons of an organisation are to be shown, with name and age, in ascending order of age.",
    wanted: |people, sorted| {
        !people.sortable()
            || sorted.returned == 0
                && sorted.complete()
                && !sorted.altered
                && people.aged_after(sorted).is_sorted()
    },
    specifications: SPECIFICATIONS,
    precondition: &[
        Condition { text: "len is 1 or more", holds: |people| people.len >= 1 },
        Condition { text: "every age is 0 or more", holds: |people| !people.has_negative() },
        Condition {
            text: "a[] holds len persons",
            holds: |people| {
                people.partly_seen
                    || usize::try_from(people.len).is_ok_and(|len| people.ages.len() >= len)
                    || people.len < 0
            },
        },
    ],
    circumstances: &[
        Condition { text: "len is 0", holds: |people| people.len == 0 },
        Condition { text: "len is 1", holds: |people| people.len == 1 },
        Condition { text: "len is below 0", holds: |people| people.len < 0 },
        Condition { text: "len is odd", holds: |people| people.len % 2 != 0 },
        Condition { text: "len is even", holds: |people| people.len % 2 == 0 },
        Condition { text: "len is 2 or more", holds: |people| people.len >= 2 },
        Condition { text: "an age is below 0", holds: People::has_negative },
        Condition { text: "the ages do not already ascend", holds: |people| !people.ages.is_sorted() },
    ],
    aspects: ASPECTS,
    small,
    large,
    size: |people| people.ages.len(),
    sized: "persons",
    any: people,
    smaller,
    outcomes,
    show_input: show_people,
    show_outcome: show_sorted,
    encode: |people| {
        let count = i32::try_from(people.ages.len()).unwrap_or(i32::MAX);
        let writer = Writer::default().word(people.len).word(people.partly_seen.into());
        writer.word(count).words(&people.ages).0
    },
    decode_input: decode_people,
    decode: decode_sorted,
    call: CALL,
    watch: WATCH,
};
