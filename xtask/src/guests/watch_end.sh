# The end of what watched: process $watch, which wrote /gaps and /problems.
# A shell has what it starts in the background ignore SIGINT.
kill -TERM $watch
wait
echo "at the end"
tail -n 1 /gaps
cat /problems
exit 0
