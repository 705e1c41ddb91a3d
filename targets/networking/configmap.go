// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/networking/ruleset"
)

// Stored is a record as it was loaded.
type Stored struct {
	Record ruleset.Record
	// Err is why the record could not be read: nothing may be revoked on its group.
	Err error
}

// Records store which rules are ours.
type Records interface {
	// Load yields the records of all security groups, by their IDs.
	Load(ctx context.Context) (map[string]Stored, error)
	// Save replaces the record of a group. It has been written when Save returns nil. An empty record is deleted.
	Save(ctx context.Context, group string, record ruleset.Record) error
}

// writeTimeout bounds a read or write of records.
const writeTimeout = 10 * time.Second

// ConfigMap keeps Records in one ConfigMap, with a key for each security group. It must exist: so no permission is needed but for the
// ConfigMap of that name. It holds a megabyte, which is the records of some 250 groups with 60 rules each; beyond that rules are
// not added.
type ConfigMap struct {
	// Client writes. Reader reads past the cache: a record must not be older than our last write.
	Client client.Client
	Reader client.Reader
	Key    client.ObjectKey
}

var _ Records = &ConfigMap{}

// +kubebuilder:rbac:groups="",resources=configmaps,resourceNames=targetgate-security-group-rules,verbs=get;patch,namespace=targetgate-system

// Load implements Records.
func (c *ConfigMap) Load(ctx context.Context) (map[string]Stored, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	var configMap corev1.ConfigMap
	if err := c.Reader.Get(ctx, c.Key, &configMap); err != nil {
		return nil, fmt.Errorf("getting ConfigMap %s: %w%s", c.Key, err, advice(err))
	}
	records := map[string]Stored{}
	for group, text := range configMap.Data {
		record, err := ruleset.ParseRecord(text)
		records[group] = Stored{Record: record, Err: err}
	}
	return records, nil
}

// advice is what to do about the error.
func advice(err error) string {
	switch {
	case apierrors.IsNotFound(err):
		return "; create it, as targetgate's chart does"
	case apierrors.IsForbidden(err):
		return "; allow targetgate get and patch on it, as the Role of targetgate's chart does"
	default:
		return ""
	}
}

// Save implements Records.
func (c *ConfigMap) Save(ctx context.Context, group string, record ruleset.Record) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	var text *string
	if len(record) > 0 {
		written := record.String()
		text = &written
	}
	patch, err := json.Marshal(map[string]any{"data": map[string]*string{group: text}})
	if err != nil {
		return fmt.Errorf("encoding a record: %w", err)
	}
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.Key.Namespace, Name: c.Key.Name}}
	if err := c.Client.Patch(ctx, configMap, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("writing the record of %s to ConfigMap %s: %w%s", group, c.Key, err, advice(err))
	}
	return nil
}
