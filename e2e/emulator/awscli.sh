#!/usr/bin/env bash
# Copyright The targetgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Takes a load balancer and a target through their lives with an unmodified AWS command line client: the emulator's program runs beside it,
# twenty times faster than AWS. Needs go, python3 and aws (Debian: apt-get install awscli); AWS=/path/to/aws picks one.
set -euo pipefail

cd "$(dirname "$0")/../.."
aws=${AWS:-aws}
if ! command -v "$aws" >/dev/null; then
  echo "awscli.sh: no '$aws' found; install the AWS command line client (Debian: apt-get install awscli)" >&2
  exit 1
fi

work=$(mktemp -d)
emulator_pid='' pod_pid=''
finish() {
  status=$?
  for pid in $emulator_pid $pod_pid; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  if [ "$status" -ne 0 ] && [ -f "$work/emulator.log" ]; then
    echo "--- emulator" >&2
    cat "$work/emulator.log" >&2
  fi
  rm -rf "$work"
}
trap finish EXIT

go build -o "$work/emulator" ./e2e/emulator/cmd
"$work/emulator" --listen 127.0.0.1:0 --scale 0.05 >"$work/emulator.log" 2>&1 &
emulator_pid=$!

mkdir "$work/www"
echo 'hello from the pod' >"$work/www/index.html"
python3 -u -m http.server --bind 127.20.0.1 --directory "$work/www" 0 >"$work/pod.log" 2>&1 &
pod_pid=$!

# eventually PATTERN FILE: prints the first match as soon as there is one. A load balancer takes up to 15 s to be active.
eventually() {
  for _ in $(seq 250); do
    grep -oEm1 "$1" "$2" && return
    sleep 0.1
  done
  echo "awscli.sh: '$1' never appeared in $(basename "$2")" >&2
  return 1
}
endpoint=$(eventually 'http://127\.0\.0\.1:[0-9]+' "$work/emulator.log")
port=$(eventually 'port [0-9]+' "$work/pod.log" | cut -d' ' -f2)

export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=eu-west-1 AWS_DEFAULT_REGION=eu-west-1
export AWS_EC2_METADATA_DISABLED=true AWS_PAGER='' AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null
call() {
  echo "+ aws $*" >&2
  "$aws" --endpoint-url "$endpoint" --output text "$@"
}
elb() { call elbv2 "$@"; }

"$aws" --version
call sts get-caller-identity
vpc=$(call ec2 describe-vpcs --query 'Vpcs[0].VpcId')
group=$(elb create-target-group --name web --protocol HTTP --port 80 --vpc-id "$vpc" --target-type ip \
  --health-check-interval-seconds 5 --health-check-timeout-seconds 4 --query 'TargetGroups[0].TargetGroupArn')
elb modify-target-group-attributes --target-group-arn "$group" \
  --attributes Key=deregistration_delay.timeout_seconds,Value=60 >/dev/null
lb=$(elb create-load-balancer --name front --subnets subnet-0a000000000000001 subnet-0b000000000000002 \
  --query 'LoadBalancers[0].LoadBalancerArn')
listener=$(elb create-listener --load-balancer-arn "$lb" --protocol HTTP --port 80 \
  --default-actions "Type=forward,TargetGroupArn=$group" --query 'Listeners[0].ListenerArn')
door=$(eventually '"address"="[^"]+"' "$work/emulator.log" | cut -d'"' -f4)

target="Id=10.20.0.1,Port=$port"
# health WANTED: polls until the target is in that state.
health() {
  local state=''
  for _ in $(seq 100); do
    state=$(elb describe-target-health --target-group-arn "$group" --targets "$target" \
      --query 'TargetHealthDescriptions[0].TargetHealth.[State,Reason,Description]' 2>/dev/null)
    case $state in "$1"*) echo "target is $state"; return ;; esac
    sleep 0.1
  done
  echo "awscli.sh: target never became $1, it is $state" >&2
  return 1
}

elb register-targets --target-group-arn "$group" --targets "$target"
health healthy
python3 -c 'import sys, urllib.request as r; print("front door says:", r.urlopen(sys.argv[1]).read().decode().strip())' "http://$door"

# same WHAT WANTED GOT
same() { [ "$3" = "$2" ] || { echo "awscli.sh: $1 is '$3', want '$2'" >&2; exit 1; }; echo "$1 is $2"; }
# answer PATH WANTED: polls until that is the answer; rules change within seconds.
answer() {
  for _ in $(seq 100); do
    [ "$(python3 -c 'import sys, urllib.request as r, urllib.error as e
try: print(r.urlopen(sys.argv[1]).read().decode().strip())
except e.HTTPError as x: print(x.code, x.read().decode().strip())' "http://$door$1")" = "$2" ] && { echo "$1 is answered: $2"; return; }
    sleep 0.1
  done
  echo "awscli.sh: $1 is never answered: $2" >&2
  return 1
}
rule=$(elb create-rule --listener-arn "$listener" --priority 10 --conditions Field=path-pattern,Values=/old \
  --actions 'Type=fixed-response,FixedResponseConfig={StatusCode=410,ContentType=text/plain,MessageBody=gone}' --query 'Rules[0].RuleArn')
answer /old '410 gone'
elb modify-rule --rule-arn "$rule" \
  --actions 'Type=fixed-response,FixedResponseConfig={StatusCode=404,ContentType=text/plain,MessageBody=none}' >/dev/null
answer /old '404 none'
elb set-rule-priorities --rule-priorities "RuleArn=$rule,Priority=20" >/dev/null
same priority 20 "$(elb describe-rules --rule-arns "$rule" --query 'Rules[0].Priority')"
elb add-tags --resource-arns "$rule" "$lb" --tags Key=team,Value=web
same 'a tag' web "$(elb describe-tags --resource-arns "$rule" --query "TagDescriptions[0].Tags[?Key=='team'].Value")"
elb remove-tags --resource-arns "$rule" "$lb" --tag-keys team
elb delete-rule --rule-arn "$rule"
answer / 'hello from the pod'

security=$(call ec2 create-security-group --group-name front --description front --vpc-id "$vpc" --query GroupId)
call ec2 authorize-security-group-ingress --group-id "$security" --protocol tcp --port 80 --cidr 0.0.0.0/0 >/dev/null
elb set-security-groups --load-balancer-arn "$lb" --security-groups "$security" >/dev/null
elb set-subnets --load-balancer-arn "$lb" --subnets subnet-0a000000000000001 subnet-0c000000000000003 >/dev/null
elb set-ip-address-type --load-balancer-arn "$lb" --ip-address-type dualstack >/dev/null
elb modify-load-balancer-attributes --load-balancer-arn "$lb" --attributes Key=idle_timeout.timeout_seconds,Value=30 >/dev/null
elb modify-listener-attributes --listener-arn "$listener" --attributes Key=routing.http.response.server.enabled,Value=false >/dev/null
same 'address type' dualstack "$(elb describe-load-balancers --load-balancer-arns "$lb" --query 'LoadBalancers[0].IpAddressType')"
same 'idle timeout' 30 "$(elb describe-load-balancer-attributes --load-balancer-arn "$lb" \
  --query "Attributes[?Key=='idle_timeout.timeout_seconds'].Value")"
answer / 'hello from the pod'

elb deregister-targets --target-group-arn "$group" --targets "$target"
health draining
health unused

elb delete-listener --listener-arn "$listener"
elb delete-load-balancer --load-balancer-arn "$lb"
elb delete-target-group --target-group-arn "$group"
left=$(elb describe-target-groups --query 'length(TargetGroups)')
[ "$left" = 0 ] || { echo "awscli.sh: $left target groups are left" >&2; exit 1; }
if message=$(elb describe-target-health --target-group-arn "$group" 2>&1); then
  echo 'awscli.sh: a deleted target group still has health' >&2
  exit 1
fi
grep -o 'An error occurred (TargetGroupNotFound).*' <<<"$message"
echo 'awscli.sh: all well'
