#!/bin/busybox sh
# PID 1 of a machine of the laboratory: runs the checks that the command line names, and sends what they left
# over the second serial port.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
grep -q lab.tracefs=no /proc/cmdline || mount -t tracefs tracefs /sys/kernel/tracing
mount -t tmpfs tmp /tmp
chmod 1777 /tmp
printf 'root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n' >/etc/passwd
stty -F /dev/ttyS1 raw

mkdir /out
for check in $(sed -n 's/.*lab\.checks=\([^ ]*\).*/\1/p' /proc/cmdline | tr , ' '); do
	mkdir "/out/$check" && cd "/out/$check" || continue
	echo "lab: $check at $(cut -d ' ' -f 1 /proc/uptime)"
	sh "/lab/$check" >stdout 2>stderr
	echo $? >code
done
echo "lab: sending at $(cut -d ' ' -f 1 /proc/uptime)"
dmesg >/out/dmesg
tar cz -C /out . >/dev/ttyS1
# Another kernel, which a check has loaded, begins where this one ends.
if test "$(cat /sys/kernel/kexec_loaded)" = 1; then
	sync
	kexec -e
fi
poweroff -f
