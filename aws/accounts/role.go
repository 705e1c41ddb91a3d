// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"
)

// Role is an IAM role to assume for a binding; without an ARN it is the program's own identity.
type Role struct {
	ARN        string
	ExternalID string
	// Namespace and Binding are what the session tells AWS (Sessions). The name may be empty: of a binding that is being
	// created it may not be known.
	Namespace, Binding string
}

// Assuming is an object that may name a role for the calls made for it, such as a *v1beta1.TargetGroupBinding.
type Assuming interface {
	GetNamespace() string
	GetName() string
	// RoleToAssume returns the role's ARN, empty for the program's own identity, and the external ID that the role asks for.
	RoleToAssume() (arn, externalID string)
}

// RoleOf returns the role for calls made for the object. It names the object, because AWS may answer differently for another
// one. The program's own identity is the same for all.
func RoleOf(object Assuming) Role {
	arn, externalID := object.RoleToAssume()
	if arn == "" {
		return Role{}
	}
	return Role{ARN: arn, ExternalID: externalID, Namespace: object.GetNamespace(), Binding: object.GetName()}
}

// trust is what a role's trust policy asks for, at the least.
type trust struct{ arn, externalID string }

func (r Role) trust() trust { return trust{arn: r.ARN, externalID: r.ExternalID} }

// account is the fifth part of the role's ARN, empty when there is none.
func (r Role) account() string {
	if parsed, err := arn.Parse(r.ARN); err == nil {
		return parsed.AccountID
	}
	return ""
}

// Sessions say what the sessions of assumed roles tell AWS: trust policies can ask for it, and CloudTrail shows it.
type Sessions struct {
	// Cluster is the name of the cluster.
	Cluster string
	// NamedByCluster names all sessions AWS-LBC-<cluster>, as aws-load-balancer-controller does, and not
	// <cluster>+<namespace>+<binding>.
	NamedByCluster bool
	// Tagged adds session tags, which every trust policy has to allow (sts:TagSession).
	Tagged bool
}

// The keys of session tags. They are not those of EKS Pod Identity, as a session that inherits these may not set them anew.
const (
	tagCluster   = "targetgate.dev/cluster"
	tagNamespace = "targetgate.dev/namespace"
	tagBinding   = "targetgate.dev/binding"
)

// known is the role without what AWS is not told: bindings that look the same to AWS share a session.
func (s Sessions) known(role Role) Role {
	if s.NamedByCluster && !s.Tagged {
		role.Namespace, role.Binding = "", ""
	}
	return role
}

// notInName are the characters of a cluster's name that STS, or we, have another use for.
var notInName = regexp.MustCompile(`[^\w,.@-]+`)

const (
	incumbentPrefix = "AWS-LBC-"
	longestName     = 64 // that STS takes
	nameHash        = 16 // hexadecimal digits
)

// name is that of the role's session. It is the same each time, and another one for every binding: where it is too long for
// STS its end is a hash of all, behind a =, which no name of a cluster, namespace or binding has in it.
func (s Sessions) name(role Role) string {
	cluster := notInName.ReplaceAllString(s.Cluster, "")
	if s.NamedByCluster {
		name := incumbentPrefix + strings.Join(notInIncumbentName.Split(s.Cluster, -1), "")
		return name[:min(len(name), longestName)]
	}
	if cluster == "" {
		cluster = "targetgate"
	}
	name := strings.TrimRight(strings.Join([]string{cluster, role.Namespace, role.Binding}, "+"), "+")
	if len(name) <= longestName && len(name) > 1 {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:min(len(name), longestName-nameHash-1)] + "=" + hex.EncodeToString(sum[:nameHash/2])
}

// notInIncumbentName is what aws-load-balancer-controller leaves out.
var notInIncumbentName = regexp.MustCompile(`[^a-zA-Z0-9=,.@\-_]+`)

// tags are those of the role's session, none when they are not wanted. One that is not known is left out.
func (s Sessions) tags(role Role) (tags []types.Tag) {
	if !s.Tagged {
		return nil
	}
	for _, tag := range [][2]string{
		{tagCluster, notInName.ReplaceAllString(s.Cluster, "")}, {tagNamespace, role.Namespace}, {tagBinding, role.Binding},
	} {
		if tag[1] != "" {
			tags = append(tags, types.Tag{Key: aws.String(tag[0]), Value: aws.String(tag[1])})
		}
	}
	return tags
}
