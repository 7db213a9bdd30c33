# Has nothing for jobs of any class: that it says so is no work.
read -r line
echo "{\"@\":\"unknown\",\"run\":\"$OARLOCK_RUN\"}"
