# What `stop_machine.rs` has a guest with two CPUs do. Each part writes a line "== NAME" and then what it saw.
# The words are those of the last loading of the module.

module=/modules/stop_machine.ko
device=/dev/stop_machine
kernel=/proc/sys/kernel
clocks=/sys/devices/system/clocksource/clocksource0

part() { echo "== $1"; }

# Writes down the running time, over and over, in a file: on each CPU, or once a second anywhere.
watch_on() { taskset "$1" sh -c 'while :; do read -r now rest </proc/uptime; echo "$now"; done' >"$2" & }
watch_seconds() { while :; do read -r now rest </proc/uptime; echo "$now"; sleep 1; done >"$1" & }

# Waits until a file has more lines than it had.
more() { until [ "$(wc -l <"$1")" -gt "$2" ]; do usleep 1000; done; }

# Does what the words say while somebody watches on each CPU, from before until after.
watched() {
    watch_on 1 first
    watcher_first=$!
    watch_on 2 second
    watcher_second=$!
    more first 2
    more second 2
    "$@"
    echo "status $?"
    cat $device
    more first "$(wc -l <first)"
    more second "$(wc -l <second)"
    kill $watcher_first $watcher_second
    wait $watcher_first $watcher_second 2>/dev/null
    uniq first | sed 's/^/cpu0.saw /'
    uniq second | sed 's/^/cpu1.saw /'
}

# Says what came of writing these words, in words of the system.
ask() {
    dmesg -c >>/tmp/log
    if said=$( (echo "$1" >$device) 2>&1); then said=done; fi
    echo "$1: ${said##*: }; $(dmesg | sed -n 's/^.*stop_machine: //p' | head -n 1)"
}
load() {
    dmesg -c >>/tmp/log
    if said=$(insmod $module "$@" 2>&1); then said=loaded; fi
    echo "$*: ${said##*: }; $(dmesg | sed -n 's/^.*stop_machine: //p' | grep -v -e taint | head -n 1)"
}

# The script and what it starts stay on the CPU that is never in a list: else a part of it might be held.
taskset -p 1 $$ >/dev/null

part refused
load msecs=9000
load msecs=-1
load msecs=60001 force=1
load msecs=10 cpus=9
load msecs=10 cpus=0,2
load cpus=
ls $device 2>/dev/null

part seed
watch_seconds seconds
seconds=$!
more seconds 1
watched insmod $module msecs=2000
more seconds "$(wc -l <seconds)"
kill $seconds
sed 's/^/second /' seconds

part again
for words in 0 -1 60001 "60001 force" 8001 "9000 1" "100 2" "100 0,5" "100 all all" "100 force all" \
    "100 all force force" "100 ,x" word "" "100ms"; do
    ask "$words"
done
echo 1 >$kernel/softlockup_panic
thresh=$(cat $kernel/watchdog_thresh)
echo 4 >$kernel/watchdog_thresh
ask 4000
ask "4000 1"
ask "4000 all force"
ask 1
echo "$thresh" >$kernel/watchdog_thresh
ask "10000 force"
echo 0 >$kernel/softlockup_panic
for switch in "hardlockup_panic 5000" "panic_on_rcu_stall 10500 force" "hung_task_panic 60000 force"; do
    # Where there is no such watchdog, there is no switch.
    [ -e "$kernel/${switch%% *}" ] || continue
    echo 1 >"$kernel/${switch%% *}"
    ask "${switch#* }"
    echo 0 >"$kernel/${switch%% *}"
done
# Who sees no switches cannot know that they are off.
umount /proc
ask 2
mount -t proc proc /proc
if grep -q acpi_pm $clocks/available_clocksource; then
    usual=$(cat $clocks/current_clocksource)
    echo acpi_pm >$clocks/current_clocksource
    ask 3000
    echo "$usual" >$clocks/current_clocksource
fi
mkdir -p /etc
echo 'nobody:x:65534:65534::/:/bin/sh' >/etc/passwd
chmod 666 $device
said=$(su nobody -c "echo 1 >$device" 2>&1)
echo "nobody: ${said##*: };"

part all
watched sh -c "echo '500 0-1' >$device"

part list
watched sh -c "echo '2000 1' >$device"

part busy
# It counts only if the first stop was still on when the second had its answer; else a longer one is tried.
for length in 1000 2000 4000 8000; do
    rm -f over
    (echo "$length 1" >$device; : >over) &
    until dmesg | tail -n 1 | grep -q "stopping CPUs 1 for $length ms"; do [ ! -e over ] || break; done
    ask 1 >answer
    [ -e over ] || break
    wait $!
done
cat answer
wait

part unload
exec 3<$device
rmmod stop_machine 2>/dev/null && echo "unloaded while open"
exec 3<&-
rmmod stop_machine && ls -d $device /sys/module/stop_machine 2>/dev/null
load "$@"
head -n 3 $device
rmmod stop_machine && echo unloaded

part log
dmesg >>/tmp/log
cat /tmp/log
