// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package frontend

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
)

// Frontend says what the objects of one kind ask for. It reads the cluster, writes nothing, and calls no cloud. Safe for concurrent use.
type Frontend interface {
	// Kind is whose stacks these are: the prefix of their tags.
	Kind() stack.Kind
	Words() Words

	Membership
	Statuses
	Watched

	// Begin has the members of a group read. Where there are none, nothing is needed of what was needed before.
	Begin(ctx context.Context, in Input) Building
}

// Words are what users read of a kind.
type Words struct {
	Object  string // Ingress: the kind of a member
	Warning string // the reason of events that warn of what is built all the same
	Orphan  string // the reason of events about load balancers that no member asks for
}

// Membership says which objects are members of a group.
type Membership interface {
	// Members are those of a group, and what else is known of it.
	Members(ctx context.Context, group stack.Group) (Members, error)
	// Whereabouts is where an object is now that was a member of the group and lacks its finalizer, as it was seen last, and the object
	// as it is.
	Whereabouts(ctx context.Context, group stack.Group, last client.Object) (client.Object, Place, error)
	// Finalizer is what each member of the group has while something is made for it, Labels are those of the group's bindings.
	Finalizer(group stack.Group) string
	Labels(group stack.Group) map[string]string
	// HoldsOurs reports whether an object has a finalizer of any group, HoldsTooMany whether it has more than count.
	HoldsOurs(object client.Object) bool
	HoldsTooMany(object client.Object) bool
	// Held is an object with a finalizer of any group, such as "Ingress shop/web", "" for none.
	Held(ctx context.Context) (string, error)
	// GivenNames are the names that users give the load balancer of these members.
	GivenNames(members Members) []string
	// SaysTheSame reports whether two states of an object ask for the same.
	SaysTheSame(a, b client.Object) bool
	// Claims are all groups that somebody claims.
	Claims(ctx context.Context) (Claims, error)
}

// Place is where an object is that was a member of a group.
type Place int

// The places.
const (
	// Gone is one that does not exist any more, or was made anew.
	Gone Place = iota
	// Here is one that is a member, or of which that is not known.
	Here
	// Elsewhere is a member of another group.
	Elsewhere
	// Nowhere is one that belongs to no group of ours.
	Nowhere
	// Foreign is one that another controller may be working on.
	Foreign
)

// Claims are which groups may not be collected.
type Claims struct {
	// Owned are the groups that have members.
	Owned map[stack.Group]bool
	// By is who keeps groups from being collected.
	By map[stack.Group]Claim
	// About is the object to tell of a group that nobody claims, nil for none.
	About func(group stack.Group) runtime.Object
}

// Claim is one of a group.
type Claim struct {
	By string // an object, as text; "" for a member
	// Reserves says that the object only has a name for the group: nobody is at work for it.
	Reserves bool
}

// Statuses are the statuses of members.
type Statuses interface {
	// Addresses are the host names in the status of an object, as they stand there (ours are in lower case), "" for an entry without one.
	Addresses(object client.Object) []string
	// ShowsFrontAlone reports whether the status of a member is to name what stands in front of the load balancer alone.
	ShowsFrontAlone(member Member) bool
	// StatusOf is what the status of an object says, the same for those that say the same.
	StatusOf(object client.Object) string
	// StatusFor is what the status of a member is to say. Front is what stands in front of the load balancer, nil for nothing; the
	// status is empty where shown is nil.
	StatusFor(object client.Object, shown, front *stack.LoadBalancer, frontAlone bool) Status
}

// Status is what one is to say.
type Status struct {
	Value string              // as StatusOf says it
	Text  func() string       // for previews
	Set   func(client.Object) // writes it into an object
}

// Watched is what concerns which group.
type Watched interface {
	// Watch adds watches of all that concerns groups, and the fields by which objects are found.
	Watch(ctx context.Context, indexer client.FieldIndexer, to Watches) error
	// GroupField is the field by which bindings with a group's labels are found.
	GroupField() string
	// GroupsOf are the groups that an object concerns, those of all objects for nil, in order.
	GroupsOf(ctx context.Context, object client.Object) ([]stack.Group, error)
	// Strays are the faults of objects that seem to be ours and belong to no group because of them.
	Strays(ctx context.Context) ([]fault.Fault, error)
}

// Watches take what a front end watches.
type Watches struct {
	Builder *ctrl.Builder
	// Ends passes all events of members, and takes in how they go.
	Ends predicate.Predicate
	// Found takes in that a group has a member in a namespace.
	Found func(group stack.Group, namespace string)
	// Knows reports whether something is remembered of a group.
	Knows func(group stack.Group) bool
}

// Input is what the members of a group are read with.
type Input struct {
	Group stack.Group
	// Members are those that are active, in the order of their rules.
	Members []Member
	// Seen is the stack in AWS. Where members disagree, and where one is held, its values stay.
	Seen stack.Stack
	// Rediscover looks for subnets in zones that the load balancer is not in.
	Rediscover bool
}

// Building is a stack that is being built.
type Building interface {
	// Needs is what has to be looked up in AWS.
	Needs() lookup.Needs
	// Build is the stack that the members want, and what is wrong with them. Its error is for all of them.
	Build(ctx context.Context, answers lookup.Answers) (stack.Stack, []fault.Fault, error)
}

// Member is an object that asks for the load balancer of its group.
type Member struct {
	Name   string // "namespace/name"
	Object client.Object
	// Fault holds the member before anything of it is read.
	Fault *fault.Fault
	// Uninvited is what the member is told if nothing of it is served in the group, in which it has no part then. It has the finalizer of
	// the group, which whoever may write the object can give it.
	Uninvited *fault.Fault
	// Details are what the front end knows of it.
	Details any
}

// UID is that of the object.
func (m Member) UID() types.UID { return m.Object.GetUID() }

// Members are the objects of a group.
type Members struct {
	// Active ones belong to the group, in the order of their rules.
	Active []Member
	// Inactive ones have the group's finalizer and do not belong to it any more. Leaving ones are those of them that another group has:
	// they stay until they are served there.
	Inactive, Leaving []client.Object
	// Stray is one that belongs to no group because of its Fault, and seems to be the one that this group is for.
	Stray Member
	// Mentioned says that an object names the group, whoever's it is.
	Mentioned bool
}

// NameOf is "namespace/name".
func NameOf(object client.Object) string { return object.GetNamespace() + "/" + object.GetName() }
