# Usage: quiet.sh KILLS. Settings are altered, switched by `tenbin quiet`, and put back however that ends.
kills=$1
kernel=/proc/sys/kernel
[ -e /sys/kernel/debug/sched ] || mount -t debugfs none /sys/kernel/debug
[ -e /sys/fs/cgroup/cgroup.procs ] || mount -t cgroup2 none /sys/fs/cgroup
mkdir -p /run

# Another value than the kernel's own, wherever there is one.
echo 1 > $kernel/numa_balancing
echo 1 > $kernel/soft_watchdog
echo 7 > /proc/sys/vm/stat_interval
echo 1 > /sys/kernel/mm/ksm/run
echo 2 > /proc/irq/default_smp_affinity
for list in /proc/irq/*/smp_affinity_list; do echo 1 > $list 2> /dev/null; done
echo +memory > /sys/fs/cgroup/cgroup.subtree_control
# The switch of both watchdogs is read too, of which Linux before 6.13 forgets that it was on.
switched="$kernel/numa_balancing $kernel/soft_watchdog $kernel/watchdog /proc/sys/vm/stat_interval /sys/kernel/mm/ksm/run
  /proc/irq/default_smp_affinity $(echo /proc/irq/*/smp_affinity_list) /sys/fs/cgroup/cgroup.subtree_control
  /sys/devices/virtual/workqueue/cpumask"
now() { head -n 9 $switched; ls -d /sys/fs/cgroup/*/ 2> /dev/null; }

# Every setting: what can be read and written, and says the same twice, with a quiet command in between.
every() {
  find /proc/sys /sys -type f -perm -u+rw ! -name '*.pressure' ! -path '/sys/kernel/debug/*' ! -path '/sys/kernel/tracing/*' \
    ! -path '/sys/kernel/slab/*' -exec md5sum {} + 2> /dev/null
}
quiet() { tenbin quiet --cpus 1 -- "$@"; }
# A file that says two things is there twice.
changing() { sort -u "$@" | cut -c 35- | sort | uniq -d; }

now > /tmp/before
every > /tmp/one
echo "planned: $(tenbin quiet --cpus 1 | head -n 1)"
quiet sh -c "(head -n 9 $(echo $switched); ls -d /sys/fs/cgroup/*/) > /tmp/during" 2> /tmp/answer
echo "taken: $(cat /tmp/answer)"
every > /tmp/two
changing /tmp/one /tmp/two > /tmp/volatile
echo "during: $(diff /tmp/before /tmp/during | grep -c '^+[^+]') lines differ"
now | cmp - /tmp/before && echo "after: as before"
# With another group there is no first one and no last one: those have the kernel patch its own code
# (cpusets_enabled()), and an emulator of several CPUs now and then executes the breakpoint that was there meanwhile.
echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/other
now > /tmp/before
every > /tmp/one
quiet tenbin quiet --cpus 1 true; echo "nested: $?"
quiet false; echo "status: $?"
tenbin quiet --what page-merging,deadline-server true; echo "by name: $?"
tenbin quiet --restore

# Killed at random moments, every tenth with its guardian: then whoever comes next has it to do.
bad=0
left=0
kill=0
both=0
active=0
while [ $kill -lt $kills ]; do
  kill=$((kill + 1))
  tenbin quiet --cpus 1 -- sleep 60 2> /dev/null & tenbin=$!
  usleep $((RANDOM * 15))
  [ -e /run/tenbin-settings ] && active=$((active + 1))
  guardian=
  [ $((kill % 10)) = 0 ] && guardian=$(pidof tenbin-guard)
  [ -n "$guardian" ] && both=$((both + 1))
  kill -9 $guardian $tenbin
  wait $tenbin 2> /dev/null
  while pidof tenbin-guard > /dev/null; do :; done
  if [ -e /run/tenbin-settings ]; then left=$((left + 1)); tenbin quiet --restore > /dev/null; fi
  now > /tmp/after
  cmp -s /tmp/before /tmp/after || { bad=$((bad + 1)); diff /tmp/before /tmp/after; }
done
echo "killed: $kills times, $active of them while settings were switched, $both with the guardian, $left left to --restore, $bad not as before"
every > /tmp/three
changing /tmp/one /tmp/three | grep -vxFf /tmp/volatile > /tmp/changed
echo "every setting: $(wc -l < /tmp/one) compared, $(wc -l < /tmp/volatile) of them change by themselves, others: $(cat /tmp/changed | tr '\n' ' ' | grep . || echo none)"
exit 0
