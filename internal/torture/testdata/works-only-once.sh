# Takes a second job, and has nothing to say about it.
read -r line
echo '{"@":"ack"}'
while read -r line; do :; done
