#!/bin/sh
# Has four processes print long lines at the same time, one that looks like a verdict
# among them, and leaves with code 65.
read -r job
for letter in a b c d; do
	{
		i=0
		while [ $i -lt 20 ]; do
			head -c 100000 /dev/zero | tr '\0' $letter
			echo
			i=$((i + 1))
		done
	} &
done
wait
exit 65
