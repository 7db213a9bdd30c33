#!/bin/sh
# Says hello, prints the text in each job's data as it is, and fails the job.
echo '{"@":"hello","v":[1],"lib":"fixture"}'
read -r hello
while read -r job; do
	run=${job#*'"run":"'}
	text=${job#*'"data":'}
	printf '%s\n' "${text%',"tags"'*}"
	printf '{"@":"fail","run":"%s","group":"own","message":""}\n' "${run%%'"'*}"
done
