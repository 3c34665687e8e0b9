"""Whether two commands differ, by Welch's t test on the times that hyperfine exported.

Usage: welch.py FILE

It is the test that hyperfine's own repository recommends: unequal variances, 0.05. What is printed is
a line of JSON: the probability, and the mean of the second command over that of the first.
"""

import json
import math
import sys
from statistics import fmean

from scipy import stats


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    with open(arguments[0], encoding="utf-8") as file:
        results = json.load(file)["results"]
    if len(results) != 2:
        print(f"{arguments[0]} holds {len(results)} results; it must hold two", file=sys.stderr)
        return 2
    left, right = (times(result) for result in results)
    probability = stats.ttest_ind(left, right, equal_var=False).pvalue
    # Two times ever the same leave no variance to test with: then nothing was shown.
    probability = 1.0 if math.isnan(probability) else float(probability)
    print(json.dumps({"probability": probability, "ratio": fmean(right) / fmean(left)}))
    return 0


def times(result):
    # Up to 1.x a list of numbers, from 2.0 on a list of runs.
    if "times" in result:
        return result["times"]
    return [run["wall_clock"] if isinstance(run, dict) else run for run in result["runs"]]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
