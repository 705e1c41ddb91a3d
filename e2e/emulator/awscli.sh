#!/usr/bin/env bash
# Copyright The targetgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Takes one target through its life with an unmodified AWS command line client: the emulator's program runs beside it,
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
