[ -e /sys/kernel/debug/sched ] || mount -t debugfs none /sys/kernel/debug
[ -e /sys/kernel/tracing/current_tracer ] || mount -t tracefs none /sys/kernel/tracing
mkdir /cg
mount -t cgroup2 none /cg

kernel=/proc/sys/kernel
huge=/sys/kernel/mm/transparent_hugepage/enabled
merging=/sys/kernel/mm/ksm/run
server=/sys/kernel/debug/sched/fair_server/cpu1/runtime
tracing=/sys/kernel/tracing
clock=/sys/devices/system/clocksource/clocksource0/current_clocksource
mask=3
cpus=1

doctor() { taskset $mask tenbin doctor --cpus $cpus; }
nobody() { taskset $mask start-stop-daemon -S -c nobody -x /bin/tenbin -- doctor --cpus $cpus; }
# The sources that disturb or may: the names at the beginning of entries, up to what does not.
names() { sed -n '/^Does not/q; s/^  \([A-Za-z-][A-Za-z -]*\):.*/\1/p' | tr '\n' ,; }
planted() { echo "planted $1: $(doctor | names)"; }

echo madvise > $huge
echo 0 > $kernel/numa_balancing
echo 1 > $kernel/perf_event_paranoid
for runtime in /sys/kernel/debug/sched/fair_server/cpu*/runtime; do echo 0 > $runtime; done
mkdir -p /etc
echo nobody:x:65534:65534::/:/bin/sh > /etc/passwd

planted nothing
echo "planted nothing, as nobody: $(nobody | names)"
echo always > $huge; planted "huge pages"; echo madvise > $huge
echo 1 > $kernel/numa_balancing; planted balancing; echo 0 > $kernel/numa_balancing
echo 1 > $merging; planted merging; echo 0 > $merging
echo 0 > $kernel/randomize_va_space; planted layout; echo 2 > $kernel/randomize_va_space
echo 50000000 > $server; planted server; echo 0 > $server
before=$(cat $clock); echo acpi_pm > $clock; planted clock; echo $before > $clock
echo function > $tracing/current_tracer; planted tracer; echo nop > $tracing/current_tracer
echo 3 > $kernel/perf_event_paranoid
echo "planted no counters, as nobody: $(nobody | names)"
echo 1 > $kernel/perf_event_paranoid
echo 1 > $kernel/bpf_stats_enabled; planted statistics; echo 0 > $kernel/bpf_stats_enabled
echo 90000000 > /proc/self/timerslack_ns; planted slack; echo 50000 > /proc/self/timerslack_ns
renice 5 $$; planted niceness; renice 0 $$
mask=2; planted mask; mask=3
taskset 2 sh -c 'while :; do :; done' & other=$!
planted hog
echo "planted hog, as nobody: $(nobody | names)"
kill $other; wait $other
echo +cpu > /cg/cgroup.subtree_control
mkdir /cg/box
echo $$ > /cg/box/cgroup.procs
echo "50000 100000" > /cg/box/cpu.max; planted quota; echo max > /cg/box/cpu.max
echo 1 > /cg/box/cpu.idle; planted "idle group"; echo 0 > /cg/box/cpu.idle
echo $$ > /cg/cgroup.procs
rmdir /cg/box
echo 120 > /proc/sys/vm/nr_hugepages; planted "reserved pages"; echo 0 > /proc/sys/vm/nr_hugepages
mkfifo /tmp/fifo
printf '#!/bin/sh\nread line < /tmp/fifo\n' > /tmp/irqbalance
chmod +x /tmp/irqbalance
/tmp/irqbalance & other=$!
planted irqbalance; kill $other; wait $other
taskset 1 tenbin yes > /dev/null & other=$!
planted tenbin; kill $other; wait $other
planted "nothing again"
exit 0
