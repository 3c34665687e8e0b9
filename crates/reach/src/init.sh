#!/tenbin/busybox sh
# What runs first in a guest: run one command, send what it left, switch the machine off.
#
# The answer is one tar stream: status, stdout, stderr, what was asked for below files/, and end, which
# says that all of it was sent. It goes over the virtio port called tenbin where the kernel has a driver
# for it, else over the serial line that sits on the PCI bus. The console is left to the kernel.

busybox=/tenbin/busybox
$busybox mkdir -p /bin /dev /proc /run /sys /tmp /tenbin/answer
# A program that was carried here keeps its place.
$busybox --install -s /bin 2>/dev/null
export PATH=/bin:/sbin:/usr/bin:/usr/sbin:/usr/local/bin HOME=/tmp

$busybox mount -t proc proc /proc
$busybox mount -t sysfs sys /sys
# A kernel without one of these lacks what would be read there, and nothing else.
$busybox mount -t debugfs debug /sys/kernel/debug 2>/dev/null
$busybox mount -t tracefs tracing /sys/kernel/tracing 2>/dev/null
$busybox mount -t devtmpfs dev /dev
$busybox mkdir -p /dev/pts /dev/shm
$busybox mount -t devpts pts /dev/pts
$busybox mount -t tmpfs shm /dev/shm
$busybox chmod 1777 /tmp /dev/shm
$busybox ip link set lo up

while read -r module; do
    # Without its driver there is the other channel, so a failure here is none.
    $busybox insmod "/tenbin/modules/$module" 2>/dev/null
done </tenbin/modules/order

# The command has none of the names above: it is a shell of its own.
cd /tmp || $busybox poweroff -f
$busybox sh /tenbin/command </dev/null >/tenbin/answer/stdout 2>/tenbin/answer/stderr
echo $? >/tenbin/answer/status

# Whether the driver of virtio ports has a device.
taken() {
    for device in /sys/bus/virtio/drivers/virtio_console/virtio*; do
        [ -e "$device" ] && return
    done
    return 1
}

# A port appears a moment after its driver has taken the device: the host announces it then.
channel=
tries=100
while [ -z "$channel" ] && taken && [ $tries -gt 0 ]; do
    for name in /sys/class/virtio-ports/*/name; do
        if [ -e "$name" ] && [ "$($busybox cat "$name")" = tenbin ]; then
            name=${name%/name}
            channel=/dev/${name##*/}
        fi
    done
    [ -n "$channel" ] || $busybox usleep 50000
    tries=$((tries - 1))
done
if [ -z "$channel" ]; then
    for line in /sys/class/tty/ttyS*; do
        case $($busybox readlink -f "$line/device") in
        */pci*) channel=/dev/${line##*/} ;;
        esac
    done
    if [ -z "$channel" ]; then
        echo 'tenbin: this kernel drives neither a virtio port nor a serial line on the PCI bus'
        $busybox poweroff -f
    fi
    $busybox stty -F "$channel" raw -echo
fi

cd /tenbin/answer || $busybox poweroff -f
$busybox ln -s / files
echo end >end
# The names of what is to be brought back stand in the positional parameters.
. /tenbin/bring
if ! $busybox tar -c -f "$channel" status stdout stderr "$@" end 2>/tenbin/complaints; then
    $busybox cat /tenbin/complaints
fi
$busybox poweroff -f
