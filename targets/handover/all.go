// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	// pause is between two looks at what is left.
	pause = 2 * time.Second
	// patience is how long a targetgate that runs may take to give back the next binding: calls to AWS have to end before.
	patience = 2 * time.Minute
	// watched is how long it is watched whether a label comes back.
	watched = 10 * time.Second
)

// All gives back all bindings of the cluster, and prints what it did to out. First it takes the label from the namespaces. While a
// targetgate has the lease, or may have another, as there is no such lease, that one gives back, as it knows of its calls to AWS: All does
// so when nobody has the lease, or when no binding was given back for two minutes. It leaves a namespace whose label somebody puts back, as
// a targetgate would take the bindings there again. It tries until nothing is left, or ctx ends; its error names what is left then, and
// what to do.
func All(ctx context.Context, c client.Client, lease client.ObjectKey, out io.Writer) error {
	h := &handover{client: c, out: out, leader: leader{client: c, lease: lease}, unlabelled: map[string]bool{}, progressAt: time.Now()}
	for {
		left := h.step(ctx)
		if left == nil && time.Since(h.removedAt) >= watched {
			return nil
		}
		select {
		case <-ctx.Done():
			return left
		case <-time.After(pause):
		}
	}
}

// handover is one run of All.
type handover struct {
	client client.Client
	out    io.Writer
	leader leader

	unlabelled map[string]bool // namespaces: true when the label came back, and that was told
	removedAt  time.Time       // the last label
	ours       int             // bindings, at the last step
	progressAt time.Time       // when these last became fewer
	waits      bool            // that All waits for a targetgate was told
}

// step does what can be done now. Its error names what is left.
func (h *handover) step(ctx context.Context) error {
	labelled, labelErr := h.unlabel(ctx)
	if labelled == nil {
		return labelErr
	}
	works, err := h.leader.works(ctx)
	if err != nil {
		return errors.Join(labelErr, err)
	}
	var list v1beta1.TargetGroupBindingList
	if err := h.client.List(ctx, &list); err != nil {
		return errors.Join(labelErr, fmt.Errorf("listing bindings: %w", err))
	}
	left := []error{labelErr}
	before := h.ours
	h.ours = 0
	for i := range list.Items {
		binding := &list.Items[i]
		if !controllerutil.ContainsFinalizer(binding, v1beta1.BesideFinalizer) {
			continue
		}
		h.ours++
		if err := h.giveBack(ctx, binding, works, labelled[binding.Namespace]); err != nil {
			left = append(left, fmt.Errorf("%s/%s: %w", binding.Namespace, binding.Name, err))
		}
	}
	if h.ours < before {
		h.progressAt = time.Now()
	}
	return errors.Join(left...)
}

// giveBack gives one binding back, unless that is for a targetgate that works. Its error says why the binding is left.
func (h *handover) giveBack(ctx context.Context, binding *v1beta1.TargetGroupBinding, works, labelled bool) error {
	switch {
	case !binding.DeletionTimestamp.IsZero():
		return errors.New("it is being deleted, and targetgate has to deregister its targets first")
	case works && labelled:
		return fmt.Errorf("namespace %s has the label %s, so that targetgate would take it again", binding.Namespace, ownership.RegisterLabel)
	case works && time.Since(h.progressAt) < patience:
		if !h.waits {
			h.waits = true
			fmt.Fprintf(h.out, "%s: waiting for it to give bindings back\n", h.leader.awaited())
		}
		return fmt.Errorf("%s, and has not given it back yet", h.leader.awaited())
	}
	given, err := GiveBack(ctx, h.client, binding)
	if given {
		fmt.Fprintf(h.out, "gave back %s/%s\n", binding.Namespace, binding.Name)
	}
	return err
}

// unlabel takes the label from namespaces, once from each, and says which have it still; nil when that is not known. A label that comes
// back has an owner who would put it back each time.
func (h *handover) unlabel(ctx context.Context) (labelled map[string]bool, _ error) {
	var list corev1.NamespaceList
	if err := h.client.List(ctx, &list, client.MatchingLabels{ownership.RegisterLabel: ownership.Enabled}); err != nil {
		return nil, fmt.Errorf("listing namespaces: %w", err)
	}
	labelled = map[string]bool{}
	var left []error
	for i := range list.Items {
		ns := &list.Items[i]
		if err := h.unlabelOne(ctx, ns); err != nil {
			labelled[ns.Name] = true
			left = append(left, err)
		}
	}
	return labelled, errors.Join(left...)
}

func (h *handover) unlabelOne(ctx context.Context, ns *corev1.Namespace) error {
	if told, before := h.unlabelled[ns.Name]; before {
		h.unlabelled[ns.Name] = true
		err := fmt.Errorf("namespace %s: label %s was removed and is back: remove it where it comes from, such as a manifest of Argo CD or "+
			"Flux, and run this again", ns.Name, ownership.RegisterLabel)
		if !told {
			fmt.Fprintln(h.out, err)
		}
		return err
	}
	before := ns.DeepCopy()
	delete(ns.Labels, ownership.RegisterLabel)
	err := h.client.Patch(ctx, ns, client.MergeFrom(before))
	switch {
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("namespace %s still has label %s: %w", ns.Name, ownership.RegisterLabel, err)
	case err == nil:
		h.unlabelled[ns.Name], h.removedAt = false, time.Now()
		fmt.Fprintf(h.out, "removed label %s from namespace %s\n", ownership.RegisterLabel, ns.Name)
	}
	return nil
}
