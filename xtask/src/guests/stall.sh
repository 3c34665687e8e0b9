# Things stopped by `tenbin stall`, and let go.
[ -e /sys/fs/cgroup/cgroup.procs ] || mount -t cgroup2 none /sys/fs/cgroup
mkdir -p /etc /sys/fs/cgroup/box
echo nobody:x:65534:65534::/:/bin/sh > /etc/passwd
state() { sed 's/.*) //; s/ .*//' /proc/$1/stat; }

echo "one: $(tenbin stall cpu 1 20ms)"
echo "all: $(tenbin stall cpu all 20ms)"
echo "under a command: $(tenbin stall cpu 1 5ms --every 20ms -- usleep 300000 2>&1)"
echo "as nobody: $(start-stop-daemon -S -c nobody -x /bin/tenbin -- stall cpu 1 20ms 2>&1)"
echo "the module: $(tenbin stall machine 20ms 2>&1)"

setsid sleep 600 & other=$!
until [ "$(cat /proc/$other/comm)" = sleep ]; do :; done
echo "process: $(tenbin stall pid $other 50ms)"
tenbin stall pid $other 500ms & tenbin=$!
until [ "$(state $other)" = T ]; do :; done
kill -9 $tenbin
wait $tenbin
until [ "$(state $other)" != T ]; do :; done
echo "killed: it goes on"

echo $other > /sys/fs/cgroup/box/cgroup.procs
echo "group: $(tenbin stall cgroup /sys/fs/cgroup/box 50ms), then $(grep frozen /sys/fs/cgroup/box/cgroup.events)"
echo 1 > /sys/fs/cgroup/box/cgroup.freeze
echo "frozen: $(tenbin stall cgroup /sys/fs/cgroup/box 50ms 2>&1)"
echo 0 > /sys/fs/cgroup/box/cgroup.freeze

echo 1 > /proc/sys/kernel/watchdog_thresh
echo 1 > /proc/sys/kernel/softlockup_panic
echo "panic: $(tenbin stall cpu 1 1s 2>&1)"
kill $other
exit 0
