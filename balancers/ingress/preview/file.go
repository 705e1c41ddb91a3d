// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	ingressapi "github.com/targetgate/targetgate/balancers/v1beta1"
)

// kind is one that is read of files.
type kind struct {
	version    string
	namespaced bool
	empty      func() client.Object
}

var kinds = map[string]kind{
	"Ingress":            {networkingv1.SchemeGroupVersion.String(), true, func() client.Object { return &networkingv1.Ingress{} }},
	"IngressClass":       {networkingv1.SchemeGroupVersion.String(), false, func() client.Object { return &networkingv1.IngressClass{} }},
	"Service":            {corev1.SchemeGroupVersion.String(), true, func() client.Object { return &corev1.Service{} }},
	"IngressClassParams": {ingressapi.GroupVersion.String(), false, func() client.Object { return &ingressapi.IngressClassParams{} }},
}

// Objects reads the Ingresses, Services, IngressClasses and IngressClassParams of YAML or JSON documents, and those in Lists. Objects
// without a namespace are in this one. Other kinds are left out, and named, sorted.
func Objects(in io.Reader, namespace string) (objects []client.Object, others []string, err error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(in))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			slices.Sort(others)
			return objects, slices.Compact(others), nil
		}
		if err == nil {
			err = decode(document, namespace, &objects, &others)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("document %d: %w", n, err)
		}
	}
}

func decode(document []byte, namespace string, objects *[]client.Object, others *[]string) error {
	var head struct {
		metav1.TypeMeta `json:",inline"`
		Items           []json.RawMessage `json:"items"`
	}
	if err := yaml.Unmarshal(document, &head); err != nil {
		return errors.New("this is no YAML of an object") // the parser's error may quote any line
	}
	known, isKnown := kinds[head.Kind]
	switch {
	case isEmpty(document):
		return nil
	case head.Kind == "":
		return errors.New("an object has no kind")
	case strings.HasSuffix(head.Kind, "List"):
		for i, item := range head.Items {
			if err := decode(item, namespace, objects, others); err != nil {
				return fmt.Errorf("items[%d]: %w", i, err)
			}
		}
		return nil
	case !isKnown:
		*others = append(*others, head.Kind)
		return nil
	case head.APIVersion != known.version:
		return fmt.Errorf("%s of %s: set apiVersion %s", head.Kind, head.APIVersion, known.version)
	}
	return known.decode(document, head.Kind, namespace, objects)
}

func (k kind) decode(document []byte, name, namespace string, objects *[]client.Object) error {
	object := k.empty()
	if err := yaml.UnmarshalStrict(document, object); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if object.GetName() == "" {
		return fmt.Errorf("%s: metadata.name is missing", name)
	}
	if k.namespaced && object.GetNamespace() == "" {
		object.SetNamespace(namespace)
	}
	if slices.ContainsFunc(*objects, func(o client.Object) bool { return isSame(o, object) }) {
		return fmt.Errorf("%s %s is listed twice", name, client.ObjectKeyFromObject(object))
	}
	*objects = append(*objects, object)
	return nil
}

// isEmpty reports whether a document has nothing but comments.
func isEmpty(document []byte) bool {
	var content any
	return yaml.Unmarshal(document, &content) == nil && content == nil
}

// settle makes the object what it is once it has been applied in place of the other, nil for none.
func settle(object, there client.Object) {
	object.SetResourceVersion("")
	if there == nil {
		object.SetUID(types.UID("proposed/" + object.GetNamespace() + "/" + object.GetName())) // any that no other has
		return
	}
	object.SetUID(there.GetUID())
	object.SetCreationTimestamp(there.GetCreationTimestamp())
	object.SetDeletionTimestamp(there.GetDeletionTimestamp())
	object.SetFinalizers(there.GetFinalizers())
	switch o := object.(type) {
	case *networkingv1.Ingress:
		o.Status = there.(*networkingv1.Ingress).Status
	case *corev1.Service:
		keepNodePorts(o, there.(*corev1.Service))
	}
}

// keepNodePorts gives ports the node ports that they have already.
func keepNodePorts(service, there *corev1.Service) {
	for i := range service.Spec.Ports {
		port := &service.Spec.Ports[i]
		for _, old := range there.Spec.Ports {
			same := port.Port == old.Port && isUDP(port.Protocol) == isUDP(old.Protocol)
			if port.NodePort == 0 && same && service.Spec.Type != corev1.ServiceTypeClusterIP && service.Spec.Type != "" {
				port.NodePort = old.NodePort
			}
		}
	}
}

// isUDP tells apart the ports of one number that a load balancer may send to.
func isUDP(protocol corev1.Protocol) bool { return protocol == corev1.ProtocolUDP }
