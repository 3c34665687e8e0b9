# Pauses of a guest: a line `please CAUSE MILLISECONDS` on its console asks for one, and a line
# `planted CAUSE MILLISECONDS` comes before what `tenbin watch` wrote of it.
tenbin watch --tick 1ms --json > /gaps 2> /problems & watch=$!
turns=0
until [ "$(ls /proc/$watch/task | wc -l)" -ge 4 ] || [ $turns -ge 600 ]; do
	usleep 50000
	turns=$((turns + 1))
done
# The battery's clock is known after some of its seconds.
sleep 5

# It is over when one of that kind and length was written, or after 20 s.
seen() {
	tail -n +$((before + 1)) /gaps | sed -n "/\"$1d\"/s/.*\"length\":\([0-9]*\)[0-9]\{9\},.*/\1/p" |
		while read -r length; do [ "$length" -lt $(($2 * 7 / 10)) ] || echo yes; done
}
plant() {
	before=$(wc -l < /gaps)
	echo "please $1 $2" > /dev/console
	turns=0
	until [ -n "$(seen $1 $2)" ] || [ $turns -ge 100 ]; do usleep 200000; turns=$((turns + 1)); done
	echo "planted $1 $2"
	tail -n +$((before + 1)) /gaps
}

round=0
while [ $round -lt "$1" ]; do
	for length in 300 1000 3000; do plant pause $length; done
	plant restore 2000
	round=$((round + 1))
done
