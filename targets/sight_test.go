// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/targetgate/targetgate/targets/endpoints"
)

// sight is a cache, and after how many writes to the API server it was read.
type sight struct {
	writes int64
	cache  *endpoints.Cache
}

// watch has the registrar see what the API server has now. It reads again what may have changed: another client than the bed's own may show
// anything.
func (b *bed) watch() {
	b.t.Helper()
	now := sight{b.writes.Load(), b.resolver.Cache}
	if b.kube.Client == b.own && now.cache != nil && now == b.seen {
		return
	}
	found, err := endpoints.ReadCache(b.t.Context(), b.Client, "")
	if err != nil {
		b.t.Fatal(err)
	}
	b.resolver.Cache = found
	b.seen = sight{now.writes, found}
}

// counting counts writes.
func counting(n *atomic.Int64) interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			defer n.Add(1)
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			defer n.Add(1)
			return c.Update(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			defer n.Add(1)
			return c.Patch(ctx, o, p, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			defer n.Add(1)
			return c.Delete(ctx, o, opts...)
		},
		SubResourceUpdate: func(
			ctx context.Context, c client.Client, name string, o client.Object, opts ...client.SubResourceUpdateOption,
		) error {
			defer n.Add(1)
			return c.SubResource(name).Update(ctx, o, opts...)
		},
		SubResourcePatch: func(
			ctx context.Context, c client.Client, name string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
		) error {
			defer n.Add(1)
			return c.SubResource(name).Patch(ctx, o, p, opts...)
		},
	}
}
