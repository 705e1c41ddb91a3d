// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/targets/endpoints"
)

func nodeOf(providerID string, labels map[string]string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n", Labels: labels}, Spec: corev1.NodeSpec{ProviderID: providerID},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.9.1"}}},
	}
}

func podWith(annotation string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web", UID: "web", Annotations: map[string]string{endpoints.PodENIAnnotation: annotation},
	}, Spec: corev1.PodSpec{NodeName: "n"}}
}

func eni(id string, owned ...string) ec2.Interface {
	out := ec2.Interface{ID: id, Groups: []string{"sg-of-" + id}}
	for _, text := range owned {
		if strings.Contains(text, "/") {
			out.Prefixes = append(out.Prefixes, netip.MustParsePrefix(text))
			continue
		}
		out.Addresses = append(out.Addresses, netip.MustParseAddr(text))
	}
	return out
}

func TestNetworkInterfaceOfAMember(t *testing.T) {
	fargate := map[string]string{endpoints.ComputeTypeLabel: "fargate"}
	hyperPod := map[string]string{hyperPodLabel: "hyperpod"}
	hybrid := map[string]string{endpoints.ComputeTypeLabel: "hybrid"}
	const instance = "aws:///eu-west-1a/i-01"
	secondary := eni("eni-2", "10.0.1.2", "10.0.2.0/28", "fd00::2", "fd00:1::/80")
	secondary.DeviceIndex = 1
	instances := map[string]ec2.Instance{"i-01": {ID: "i-01", Interfaces: []ec2.Interface{secondary, eni("eni-1", "10.0.1.1")}}}
	interfaces := []ec2.Interface{
		eni("eni-0b", "10.0.3.3", "fd00::3"), eni("eni-0f", "10.0.4.4", "fd00::4"), eni("eni-h", "10.0.9.1", "10.0.5.0/28", "fd00:5::/80"),
	}
	branch := func(id, v4, v6 string) string {
		return `[{"eniId":"` + id + `","privateIp":"` + v4 + `","ipv6Addr":"` + v6 + `"}]`
	}
	tests := map[string]struct {
		member  Member
		want    string
		wantErr string
	}{
		"EC2: a secondary address":               {member: PodMember(podWith(""), nodeOf(instance, nil), netip.MustParseAddr("10.0.1.2")), want: "eni-2"},
		"EC2: an IPv4 prefix":                    {member: PodMember(podWith(""), nodeOf(instance, nil), netip.MustParseAddr("10.0.2.9")), want: "eni-2"},
		"EC2: an IPv6 prefix":                    {member: PodMember(podWith(""), nodeOf(instance, nil), netip.MustParseAddr("fd00:1::9")), want: "eni-2"},
		"N-13: an IPv6 address":                  {member: PodMember(podWith(""), nodeOf(instance, nil), netip.MustParseAddr("fd00::2")), want: "eni-2"},
		"EC2: no interface has the address":      {member: PodMember(podWith(""), nodeOf(instance, nil), netip.MustParseAddr("10.0.7.7")), wantErr: "no network interface of instance i-01 has the address 10.0.7.7"},
		"EC2: the instance is unknown":           {member: PodMember(podWith(""), nodeOf("aws:///eu-west-1a/i-99", nil), netip.MustParseAddr("10.0.1.2")), wantErr: "EC2 knows no instance i-99"},
		"EC2: no instance in the providerID":     {member: PodMember(podWith(""), nodeOf("kind://n", nil), netip.MustParseAddr("10.0.1.2")), wantErr: "the node's spec.providerID names no EC2 instance: it must be aws:///<zone>/i-<id>"},
		"there is no node":                       {member: PodMember(podWith(""), nil, netip.MustParseAddr("10.0.1.2")), wantErr: "there is no Node n"},
		"branch interface, IPv4":                 {member: PodMember(podWith(branch("eni-0b", "10.0.3.3", "")), nodeOf(instance, nil), netip.MustParseAddr("10.0.3.3")), want: "eni-0b"},
		"branch interface, IPv6":                 {member: PodMember(podWith(branch("eni-0b", "", "fd00:0::3")), nodeOf(instance, nil), netip.MustParseAddr("fd00::3")), want: "eni-0b"},
		"annotation of another address":          {member: PodMember(podWith(branch("eni-0b", "10.0.3.4", "")), nodeOf(instance, nil), netip.MustParseAddr("10.0.1.2")), want: "eni-2"},
		"annotation with another's interface":    {member: PodMember(podWith(branch("eni-0f", "10.0.1.2", "")), nodeOf(instance, nil), netip.MustParseAddr("10.0.1.2")), wantErr: "network interface eni-0f of the pod's annotation vpc.amazonaws.com/pod-eni has not the address 10.0.1.2, or does not exist"},
		"annotation with nonsense":               {member: PodMember(podWith("{"), nodeOf(instance, nil), netip.MustParseAddr("10.0.1.2")), want: "eni-2"},
		"Fargate, IPv4":                          {member: PodMember(podWith(""), nodeOf("", fargate), netip.MustParseAddr("10.0.4.4")), want: "eni-0f"},
		"Fargate, IPv6":                          {member: PodMember(podWith(""), nodeOf("", fargate), netip.MustParseAddr("fd00::4")), want: "eni-0f"},
		"Fargate, not found":                     {member: PodMember(podWith(""), nodeOf("", fargate), netip.MustParseAddr("10.0.7.7")), wantErr: "no network interface in vpc-1 has the address 10.0.7.7"},
		"HyperPod, an address":                   {member: PodMember(podWith(""), nodeOf("", hyperPod), netip.MustParseAddr("10.0.4.4")), want: "eni-0f"},
		"HyperPod, the node's IPv4 prefix":       {member: PodMember(podWith(""), nodeOf("", hyperPod), netip.MustParseAddr("10.0.5.9")), want: "eni-h"},
		"HyperPod, the node's IPv6 prefix":       {member: PodMember(podWith(""), nodeOf("", hyperPod), netip.MustParseAddr("fd00:5::9")), want: "eni-h"},
		"HyperPod, not found":                    {member: PodMember(podWith(""), nodeOf("", hyperPod), netip.MustParseAddr("10.0.7.7")), wantErr: "no network interface in vpc-1 has the address 10.0.7.7"},
		"a hybrid node's pod has none":           {member: PodMember(podWith(""), nodeOf("eks-hybrid:///x", hybrid), netip.MustParseAddr("192.168.0.1"))},
		"N-13: a hybrid node has none":           {member: NodeMember(nodeOf("eks-hybrid:///x", hybrid))},
		"a node's primary interface":             {member: NodeMember(nodeOf(instance, nil)), want: "eni-1"},
		"a node that EC2 does not know":          {member: NodeMember(nodeOf("aws:///eu-west-1a/i-99", nil)), wantErr: "EC2 knows no instance i-99"},
		"a node without an instance":             {member: NodeMember(nodeOf("", nil)), wantErr: "the node's spec.providerID names no EC2 instance: it must be aws:///<zone>/i-<id>"},
		"an address that is IPv4 mapped to IPv6": {member: PodMember(podWith(""), nodeOf(instance, nil), netip.MustParseAddr("::ffff:10.0.1.2")), want: "eni-2"},
	}
	var all []Member
	var names []string
	for name, tc := range tests {
		all, names = append(all, tc.member), append(names, name)
	}
	fake := &fakeEC2{}
	fake.instances, fake.interfaces = instances, interfaces
	places := finder{ec2: fake, vpc: inVPC, class: budget.ClassRegister}.find(t.Context(), all)
	for n, name := range names {
		t.Run(name, func(t *testing.T) {
			if got := places[n].eni.ID; got != tests[name].want {
				t.Errorf("interface %q, want %q", got, tests[name].want)
			}
			if diff := cmp.Diff(tests[name].wantErr, textOf(places[n].Err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
	if want := []string{"Interfaces", "Instances", "InterfacesByAddress", "InterfacesByAddress"}; !cmp.Equal(want, fake.calls) {
		t.Errorf("calls %v for all members, want %v", fake.calls, want)
	}
}

func TestFailedReadIsTheMembersError(t *testing.T) {
	fake := &fakeEC2{}
	fake.node(1, "sg-a")
	fake.err = apiError("RequestLimitExceeded")
	places := finder{ec2: fake}.find(t.Context(), []Member{podOn(1, "web"), {Class: ClassHybrid}})
	if places[0].Err == nil || places[1].Err != nil {
		t.Errorf("errors %v, %v, want one of the first", places[0].Err, places[1].Err)
	}
}

func FuzzBranchENI(f *testing.F) {
	for _, seed := range []string{
		`[{"eniId":"eni-0a","ifAddress":"06:2e","privateIp":"10.0.1.2","ipv6Addr":"fd00::2","vlanId":1,"subnetCidr":"10.0.0.0/16"}]`, "", "[", "[[]]", "null", `[{"eniId":7}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, annotation string) {
		if id := branchENI(annotation, netip.MustParseAddr("10.0.1.2")); id != "" && !interfaceIDPattern.MatchString(id) {
			t.Errorf("%q yields %q", annotation, id)
		}
	})
}
