// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/aws/ec2/fake"
	"github.com/targetgate/targetgate/aws/elbv2"
)

const testGroup = "sg-0123"

var compareAddresses = cmpopts.EquateComparable(netip.Prefix{}, netip.Addr{})

func clientOver(api ec2.API) *ec2.Client { return ec2.New(api, budget.New("", nil, clock.RealClock{})) }

func tcp(port int32, source ec2.Source) ec2.Permission {
	return ec2.Permission{Rule: ec2.Rule{Protocol: "tcp", From: port, To: port, Source: source}}
}

func cidr(s string) ec2.Source { return ec2.Source{CIDR: netip.MustParsePrefix(s)} }

// operations are all that a client does.
var operations = map[string]func(context.Context, *ec2.Client, budget.Class) error{
	"Interfaces": func(ctx context.Context, c *ec2.Client, class budget.Class) error {
		_, err := c.Interfaces(ctx, class, []string{"eni-1"})
		return err
	},
	"InterfacesByAddress": func(ctx context.Context, c *ec2.Client, class budget.Class) error {
		_, err := c.InterfacesByAddress(ctx, class, "vpc-1", []netip.Addr{netip.MustParseAddr("10.0.0.1")})
		return err
	},
	"Instances": func(ctx context.Context, c *ec2.Client, class budget.Class) error {
		_, err := c.Instances(ctx, class, []string{"i-1"})
		return err
	},
	"SecurityGroups": func(ctx context.Context, c *ec2.Client, class budget.Class) error {
		_, err := c.SecurityGroups(ctx, class, []string{testGroup})
		return err
	},
	"Authorize": func(ctx context.Context, c *ec2.Client, class budget.Class) error {
		return c.Authorize(ctx, class, testGroup, []ec2.Permission{tcp(80, cidr("10.0.0.0/8"))})
	},
	"Revoke": func(ctx context.Context, c *ec2.Client, class budget.Class) error {
		return c.Revoke(ctx, class, testGroup, []ec2.Permission{tcp(80, cidr("10.0.0.0/8"))})
	},
}

func changes(operation string) bool { return operation == "Authorize" || operation == "Revoke" }

func TestClientChargesEachOperationToItsClassAndTenant(t *testing.T) {
	for name, call := range operations {
		t.Run(name, func(t *testing.T) {
			var got budget.Charge
			api := &fake.API{Before: func(ctx context.Context, _ fake.Call) error {
				got = budget.ChargeOf(ctx)
				return nil
			}}
			b := budget.New("", nil, clock.RealClock{})
			_ = call(t.Context(), ec2.New(api, b).For("team-a"), budget.ClassRegister)
			want := budget.Charge{Budget: b, Urgency: budget.ClassRegister.Now(), Tenant: "team-a"}
			if changes(name) {
				want = want.Paid()
			}
			if got != want {
				t.Errorf("charged to class %s, tenant %q, or otherwise than %+v", got.Class, got.Tenant, want)
			}
		})
	}
}

// accountsAt are of a program that finds every service at server, and sends everything with client.
func accountsAt(server string, settings accounts.Settings, client aws.HTTPClient) *accounts.Accounts {
	settings.Endpoints = map[string]string{budget.EC2: server, budget.ELBv2: server, budget.STS: server}
	return accounts.New(aws.Config{
		Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""), HTTPClient: client,
	}, settings)
}

// refusing is an AWS that refuses everything, as EC2 does.
type refusing struct {
	status   int
	code     string
	requests int
}

func (r *refusing) Do(*http.Request) (*http.Response, error) {
	r.requests++
	w := httptest.NewRecorder()
	w.WriteHeader(r.status)
	_, _ = w.WriteString(`<Response><Errors><Error><Code>` + r.code + `</Code><Message>because</Message></Error></Errors>` +
		`<RequestID>req-1</RequestID></Response>`)
	return w.Result(), nil
}

func TestClientTriesReadingsAgainAndChangesOnce(t *testing.T) {
	for name, call := range operations {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, tc := range []struct {
					class         budget.Class
					retries, want int
				}{{budget.ClassOther, 5, 6}, {budget.ClassAdmission, 5, 3}, {budget.ClassAdmission, 1, 2}} {
					if changes(name) {
						tc.want = 1
					}
					server := &refusing{status: http.StatusInternalServerError, code: "InternalError"}
					client := ec2.NewClient(accountsAt("http://ec2.test", accounts.Settings{MaxRetries: tc.retries}, server))
					if err := call(t.Context(), client, tc.class); err == nil || awserr.HadNoEffect(err) {
						t.Errorf("error %v, want one that may have had an effect", err)
					}
					if server.requests != tc.want {
						t.Errorf("%d attempts of class %s, want %d", server.requests, tc.class, tc.want)
					}
				}
			})
		})
	}
}

func TestClientErrorsSayWhatWasDone(t *testing.T) {
	want := map[string]string{
		"Interfaces": "describing network interfaces: ", "InterfacesByAddress": "describing network interfaces by address: ",
		"Instances": "describing instances: ", "SecurityGroups": "describing security groups: ",
		"Authorize": "adding rules to security group sg-0123: ", "Revoke": "removing rules from security group sg-0123: ",
	}
	for name, call := range operations {
		t.Run(name, func(t *testing.T) {
			server := &refusing{status: http.StatusForbidden, code: "UnauthorizedOperation"}
			err := call(t.Context(), ec2.NewClient(accountsAt("http://ec2.test", accounts.Settings{}, server)), budget.ClassOther)
			if !awserr.IsPermission(err) || !awserr.HadNoEffect(err) || !strings.HasPrefix(err.Error(), want[name]) {
				t.Fatalf("error %v, want %s... and that IAM refused", err, want[name])
			}
			if got := awserr.Message(err); got != "UnauthorizedOperation: because" {
				t.Errorf("message %q", got)
			}
		})
	}
}

// Neither the calls of a service nor its throttling slow down others.
func TestCallsTakeTokensOfTheirServiceAlone(t *testing.T) {
	tests := map[string]struct {
		call func(context.Context, *accounts.Accounts) error
		want string // the bucket
	}{
		"load balancers, describing": {
			func(ctx context.Context, a *accounts.Accounts) error {
				_, err := elbv2.NewClients(a).Client(accounts.Role{}).GroupByName(ctx, budget.ClassOther, "web")
				return err
			}, "^Describe",
		},
		"load balancers, registering": {
			func(ctx context.Context, a *accounts.Accounts) error {
				return elbv2.NewClients(a).Client(accounts.Role{}).Register(ctx, budget.ClassRegister.Now(), "arn", func() map[elbv2.Target]string {
					return map[elbv2.Target]string{{ID: "10.0.0.1", Port: 80}: ""}
				})
			}, "^(Register|Deregister)Targets$",
		},
	}
	buckets := map[string]string{"Authorize": "EC2:^AuthorizeSecurityGroupIngress$", "Revoke": "EC2:^RevokeSecurityGroupIngress$"}
	for name, call := range operations {
		bucket, ok := buckets[name]
		if !ok {
			bucket = "EC2:^Describe"
		}
		tests[name] = struct {
			call func(context.Context, *accounts.Accounts) error
			want string
		}{func(ctx context.Context, a *accounts.Accounts) error {
			return call(ctx, ec2.NewClient(a), budget.ClassOther)
		}, bucket}
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// Throttling empties the bucket of the attempt, whoever has paid for it; another refusal leaves what was taken to be seen.
				refused := &refusing{status: http.StatusForbidden, code: "UnauthorizedOperation"}
				if spent, _ := levelsAfter(t, refused, tc.call); !slices.Equal(spent, []string{tc.want}) {
					t.Errorf("took tokens of %v, want of %s", spent, tc.want)
				}
				throttled := &refusing{status: http.StatusServiceUnavailable, code: "RequestLimitExceeded"}
				_, slowed := levelsAfter(t, throttled, tc.call)
				if strings.HasPrefix(tc.want, "EC2:") && !slices.Equal(slowed, []string{tc.want}) {
					t.Errorf("slowed down %v, want %s", slowed, tc.want)
				}
			})
		})
	}
}

// levelsAfter are the buckets that have fewer tokens, and those that are slower, after a call of one attempt.
func levelsAfter(t *testing.T, server *refusing, call func(context.Context, *accounts.Accounts) error) (spent, slowed []string) {
	t.Helper()
	own := accountsAt("http://aws.test", accounts.Settings{}, server)
	levels := own.Session(accounts.Role{}).Budget().Levels
	before := levels()
	if err := call(t.Context(), own); err == nil || server.requests != 1 {
		t.Fatalf("error %v after %d attempts, want one", err, server.requests)
	}
	for i, level := range levels() {
		if level.Tokens < before[i].Tokens {
			spent = append(spent, level.Operations)
		}
		if level.Rate < before[i].Rate {
			slowed = append(slowed, level.Operations)
		}
	}
	return spent, slowed
}

// Each rule is a permission of its own, with one source that has the description.
func TestClientSendsRulesAsEC2TakesThem(t *testing.T) {
	rules := []ec2.Permission{
		{Rule: ec2.Rule{Protocol: "tcp", From: 80, To: 443, Source: cidr("10.1.2.3/8")}, Description: "elbv2.k8s.aws/targetGroupBinding=shared"},
		{Rule: ec2.Rule{Protocol: "udp", From: 53, To: 53, Source: cidr("2001:db8::1/64")}, Description: "of v6"},
		{Rule: ec2.Rule{Protocol: "-1", From: -1, To: -1, Source: ec2.Source{Group: "sg-lb"}}, Description: "of a group"},
		{Rule: ec2.Rule{Protocol: "tcp", From: 0, To: 65535, Source: ec2.Source{PrefixList: "pl-1"}}},
	}
	bare := []string{
		"GroupId=sg-0123",
		"IpPermissions.1.FromPort=80", "IpPermissions.1.IpProtocol=tcp", "IpPermissions.1.IpRanges.1.CidrIp=10.0.0.0/8", "IpPermissions.1.ToPort=443",
		"IpPermissions.2.FromPort=53", "IpPermissions.2.IpProtocol=udp", "IpPermissions.2.Ipv6Ranges.1.CidrIpv6=2001:db8::/64", "IpPermissions.2.ToPort=53",
		"IpPermissions.3.Groups.1.GroupId=sg-lb", "IpPermissions.3.IpProtocol=-1",
		"IpPermissions.4.FromPort=0", "IpPermissions.4.IpProtocol=tcp", "IpPermissions.4.PrefixListIds.1.PrefixListId=pl-1", "IpPermissions.4.ToPort=65535",
	}
	tests := map[string]struct {
		call func(context.Context, *ec2.Client) error
		want []string
	}{
		"AuthorizeSecurityGroupIngress": {
			call: func(ctx context.Context, c *ec2.Client) error {
				return c.Authorize(ctx, budget.ClassOther, testGroup, rules)
			},
			want: append([]string{
				"IpPermissions.1.IpRanges.1.Description=elbv2.k8s.aws/targetGroupBinding=shared", "IpPermissions.2.Ipv6Ranges.1.Description=of v6",
				"IpPermissions.3.Groups.1.Description=of a group",
			}, bare...),
		},
		"RevokeSecurityGroupIngress": {
			call: func(ctx context.Context, c *ec2.Client) error {
				return c.Revoke(ctx, budget.ClassOther, testGroup, rules)
			},
			want: bare,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				_ = req.ParseForm()
				for key, values := range req.PostForm {
					if key != "Version" {
						got = append(got, key+"="+values[0])
					}
				}
				_, _ = w.Write([]byte("<" + name + "Response><return>true</return></" + name + "Response>"))
			}))
			defer server.Close()
			if err := tc.call(t.Context(), ec2.NewClient(accountsAt(server.URL, accounts.Settings{}, nil))); err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(append([]string{"Action=" + name}, tc.want...)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("parameters (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClientMakesNoCallForNothing(t *testing.T) {
	api := &fake.API{}
	c := clientOver(api)
	for name, call := range map[string]func() error{
		"Interfaces": func() error { _, err := c.Interfaces(t.Context(), budget.ClassOther, []string{""}); return err },
		"InterfacesByAddress": func() error {
			_, err := c.InterfacesByAddress(t.Context(), budget.ClassOther, "vpc-1", []netip.Addr{{}})
			return err
		},
		"Instances":      func() error { _, err := c.Instances(t.Context(), budget.ClassOther, nil); return err },
		"SecurityGroups": func() error { _, err := c.SecurityGroups(t.Context(), budget.ClassOther, []string{"sg 1"}); return err },
		"Authorize":      func() error { return c.Authorize(t.Context(), budget.ClassOther, testGroup, nil) },
		"Revoke":         func() error { return c.Revoke(t.Context(), budget.ClassOther, testGroup, nil) },
	} {
		if err := call(); err != nil || len(api.Calls("")) != 0 {
			t.Errorf("%s: error %v, calls %v, want neither: EC2 takes no ID for all", name, err, api.Calls(""))
		}
	}
}
