#!/bin/sh
# Uses verbs and fields of a later version, beside those of this one.
echo '{"@":"hello","v":[1,2],"lib":"future/1.0","caps":["teleport"],"mood":"fine"}'
read -r hello
while read -r job; do
	run=${job#*'"run":"'}
	echo '{"@":"weather","sky":"blue"}'
	printf '{"@":"ack","run":"%s","colour":"green"}\n' "${run%%'"'*}"
done
