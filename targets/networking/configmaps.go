// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Stored is a record as it was loaded.
type Stored struct {
	Record Record
	// Err is why the record could not be read: nothing may be revoked on its group.
	Err error
}

// Records store which rules are ours.
type Records interface {
	// Load yields the records of all security groups, by their IDs.
	Load(ctx context.Context) (map[string]Stored, error)
	// Save replaces the record of a group. It has been written when Save returns nil. An empty record is deleted.
	Save(ctx context.Context, group string, record Record) error
}

const (
	recordPrefix = "targetgate-"
	// recordLabel is on the ConfigMaps that are records, and on no others.
	recordLabel, recordLabelValue = "targetgate.dev/record", "security-group-rules"
	recordKey                     = "rules"
	fieldOwner                    = "targetgate"
	// writeTimeout bounds a read or write of records.
	writeTimeout = 10 * time.Second
)

// ConfigMaps are Records in ConfigMaps of one namespace, one a security group: targetgate-sg-0123.
type ConfigMaps struct {
	// Client writes. Reader reads past the cache: a record must not be older than our last write.
	Client client.Client
	Reader client.Reader
	// Namespace is targetgate's own.
	Namespace string
}

var _ Records = &ConfigMaps{}

// Load implements Records.
func (c *ConfigMaps) Load(ctx context.Context) (map[string]Stored, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	var list corev1.ConfigMapList
	err := c.Reader.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingLabels{recordLabel: recordLabelValue})
	if err != nil {
		return nil, fmt.Errorf("listing the records of security groups: %w", err)
	}
	records := map[string]Stored{}
	for _, configMap := range list.Items {
		if group, ok := strings.CutPrefix(configMap.Name, recordPrefix); ok {
			record, err := ParseRecord(configMap.Data[recordKey])
			records[group] = Stored{Record: record, Err: err}
		}
	}
	return records, nil
}

// Save implements Records.
func (c *ConfigMaps) Save(ctx context.Context, group string, record Record) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	name := recordPrefix + group
	if len(record) == 0 {
		configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name}}
		return client.IgnoreNotFound(c.Client.Delete(ctx, configMap))
	}
	configMap := corev1ac.ConfigMap(name, c.Namespace).
		WithLabels(map[string]string{recordLabel: recordLabelValue}).
		WithData(map[string]string{recordKey: record.String()})
	return c.Client.Apply(ctx, configMap, client.FieldOwner(fieldOwner), client.ForceOwnership)
}
