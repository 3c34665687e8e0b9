# Things that stand still in a guest, one after the other, each of a cause that is known, and what `tenbin watch` says
# of them. A line `planted CAUSE MILLISECONDS` comes before what it wrote meanwhile.
[ -e /sys/fs/cgroup/cgroup.procs ] || mount -t cgroup2 none /sys/fs/cgroup
insmod /modules/stop_machine.ko
mkdir -p /sys/fs/cgroup/box
echo +cpu > /sys/fs/cgroup/cgroup.subtree_control
box=/sys/fs/cgroup/box

setsid sh -c "echo 0 > $box/cgroup.procs; exec tenbin watch --tick 1ms --json --perfetto /tmp/gaps.pftrace" > /gaps 2> /problems &
# It watches when its threads are there: itself, one for each CPU and one for the battery's clock.
turns=0
until watch=$(pidof tenbin) && [ "$(ls /proc/$watch/task | wc -l)" -ge 4 ] || [ $turns -ge 600 ]; do
	usleep 50000
	turns=$((turns + 1))
done
[ $turns -lt 600 ] || echo "it does not watch: $(cat /problems)"

lines() { wc -l < /gaps; }
# What is planted is over when this is called: it waits for what the watch says of it, for 4 s at most.
heard() {
	turns=0
	until [ "$(lines)" -gt "$before" ] || [ $turns -ge 80 ]; do usleep 50000; turns=$((turns + 1)); done
	# What belongs to the same gap may come a little later.
	usleep 300000
	echo "planted $1 $2"
	tail -n +$((before + 1)) /gaps
}
plant() {
	cause=$1 length=$2
	shift 2
	before=$(lines)
	"$@" > /dev/null
	heard $cause $length
}
throttle() {
	sh -c "echo 0 > $box/cgroup.procs; exec timeout 1 sh -c 'while :; do :; done'" & busy=$!
	echo "20000 100000" > $box/cpu.max
	wait $busy
	echo "max 100000" > $box/cpu.max
}

# By each clock that the kernel can go by.
clocks=/sys/devices/system/clocksource/clocksource0
for clock in $(cat $clocks/available_clocksource); do
	echo $clock > $clocks/current_clocksource
	echo "by the clock $(cat $clocks/current_clocksource)"
	for length in 20 100; do
		plant timer $length tenbin stall cpu 1 ${length}ms
		plant timers $length tenbin stall cpu all ${length}ms
		plant stop_machine $length tenbin stall machine ${length}ms
		plant stopped $length tenbin stall pid $watch ${length}ms
		plant frozen $length tenbin stall cgroup $box ${length}ms
	done
	plant task 300 /tmp/hog 1 300
	plant throttled 80 throttle
	plant nothing 10000 /tmp/hog past 10000
done
