// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Request is one of the audited user's that the API server has answered.
type Request struct {
	Received time.Time
	Verb     string // that RBAC knows: of a list it is list, of server-side apply patch
	Group    string // empty for the core one
	Resource string // with its subresource, as in pods/status; of what is no resource, the path
	// Namespace and Name are empty where the request has none. A list or watch of one object, by its name, has the name.
	Namespace, Name string
	Created         bool // the answer is that the object did not exist before
	// Grant is by what it was allowed, in the API server's words, which name binding and role. It is empty when it was not.
	Grant string
	// Refused is the API server's answer to what RBAC does not allow, or admission forbids; otherwise it is empty. That
	// nothing can be created in a namespace that is being deleted is no refusal, though its status is 403, too.
	Refused string
}

// auditPolicy has one user's requests written down, without bodies, when they have been answered; a watch when it begins.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata, users: [%q]}]
`

func (l layout) auditPolicyPath() string { return l.path("audit-policy.yaml") }
func (l layout) auditLogPath() string    { return l.path("logs", "audit.log") }

// audit prepares the API server for it and returns its flags.
func (l layout) audit(user string) ([]string, error) {
	err := os.WriteFile(l.auditPolicyPath(), fmt.Appendf(nil, auditPolicy, user), 0o600)
	return []string{
		"--audit-policy-file=" + l.auditPolicyPath(), "--audit-log-path=" + l.auditLogPath(), "--audit-log-maxsize=0", // it is not rotated
	}, err
}

// Requests are those of the audited user until now, in the order of their answers; a watch counts as answered when it
// begins. The last ones may come a moment late.
func (c *Cluster) Requests() ([]Request, error) {
	file, err := os.Open(c.auditLogPath())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // nobody has asked for anything yet
	}
	if err != nil {
		return nil, fmt.Errorf("reading audit log: %w", err)
	}
	defer file.Close()
	requests, err := readAudit(file)
	if err != nil {
		return nil, fmt.Errorf("reading audit log: %w", err)
	}
	return requests, nil
}

// readAudit leaves out a last line that is still being written.
func readAudit(log io.Reader) ([]Request, error) {
	var out []Request
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		var event auditEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("parsing %q: %w", line, err)
		}
		if !event.repeats() {
			out = append(out, event.request())
		}
	}
}

// auditEvent is what is read of audit.k8s.io/v1 Event.
type auditEvent struct {
	Stage, Verb, RequestURI string
	ObjectRef               struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	ResponseStatus          metav1.Status
	// RequestReceivedTimestamp is of the request, whatever the stage.
	RequestReceivedTimestamp metav1.MicroTime
	Annotations              map[string]string
}

// repeats says that the event is of the end of a watch, whose beginning has been written down.
func (e *auditEvent) repeats() bool {
	return e.Verb == "watch" && e.Stage == "ResponseComplete" && e.ResponseStatus.Code == http.StatusOK
}

func (e *auditEvent) request() Request {
	r := Request{
		Received: e.RequestReceivedTimestamp.Time, Verb: e.Verb, Group: e.ObjectRef.APIGroup, Resource: e.ObjectRef.Resource,
		Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name, Created: e.ResponseStatus.Code == http.StatusCreated,
	}
	if e.ObjectRef.Subresource != "" {
		r.Resource += "/" + e.ObjectRef.Subresource
	}
	if r.Resource == "" {
		r.Resource, _, _ = strings.Cut(e.RequestURI, "?")
	}
	if e.Annotations["authorization.k8s.io/decision"] == "allow" {
		r.Grant = e.Annotations["authorization.k8s.io/reason"]
	}
	if e.ResponseStatus.Code == http.StatusForbidden && !e.ofEndingNamespace() {
		r.Refused = e.ResponseStatus.Message
	}
	return r
}

func (e *auditEvent) ofEndingNamespace() bool {
	details := e.ResponseStatus.Details
	return details != nil && slices.ContainsFunc(details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Type == corev1.NamespaceTerminatingCause
	})
}
