// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingresses

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/config/provision/crd"
	"github.com/targetgate/targetgate/webhook/review"
	"github.com/targetgate/targetgate/webhook/schema"
)

// The paths are the incumbent's, but for the last, which it has not.
const (
	Path             = "/validate-networking-v1-ingress"
	ParamsPath       = "/validate-elbv2-k8s-aws-v1beta1-ingressclassparams"
	MutateParamsPath = "/mutate-elbv2-k8s-aws-v1beta1-ingressclassparams"
)

// Options is what the handlers need besides a cache.
type Options struct {
	// Class is --ingress-class.
	Class string
	// ForbidClassAnnotation and ForbidGroupName refuse new uses of annotations.
	ForbidClassAnnotation, ForbidGroupName bool
	// IgnoreClassAnnotation is --ignore-ingress-class-annotation.
	IgnoreClassAnnotation bool
	// Tags are those of target groups; nil where nobody's consent is needed.
	Tags Tags
	// Build says how load balancers are made.
	Build input.Options
}

// +kubebuilder:webhook:path=/validate-networking-v1-ingress,serviceName=targetgate-webhook,serviceNamespace=targetgate-system,mutating=false,failurePolicy=ignore,sideEffects=None,groups=networking.k8s.io,resources=ingresses,verbs=create;update,versions=v1,name=vingress.elbv2.k8s.aws,admissionReviewVersions=v1,timeoutSeconds=10,patch=`{"matchConditions":[{"name":"changes","expression":"request.operation != 'UPDATE' || object.?spec != oldObject.?spec || object.metadata.?annotations != oldObject.metadata.?annotations"}]}`
// +kubebuilder:webhook:path=/validate-elbv2-k8s-aws-v1beta1-ingressclassparams,serviceName=targetgate-webhook,serviceNamespace=targetgate-system,mutating=false,failurePolicy=fail,sideEffects=None,groups=elbv2.k8s.aws,resources=ingressclassparams,verbs=create;update,versions=v1beta1,name=vingressclassparams.elbv2.k8s.aws,admissionReviewVersions=v1,timeoutSeconds=10,patch=`{"matchConditions":[{"name":"none-of-an-installation","expression":"request.operation != 'CREATE' || object.metadata.?labels[?'app.kubernetes.io/name'].orValue('') != 'targetgate'"},{"name":"spec-changes","expression":"request.operation != 'UPDATE' || object.?spec != oldObject.?spec"}]}`
// +kubebuilder:webhook:path=/mutate-elbv2-k8s-aws-v1beta1-ingressclassparams,serviceName=targetgate-webhook,serviceNamespace=targetgate-system,mutating=true,failurePolicy=fail,sideEffects=None,groups=elbv2.k8s.aws,resources=ingressclassparams,verbs=create;update,versions=v1beta1,name=mingressclassparams.elbv2.k8s.aws,admissionReviewVersions=v1,timeoutSeconds=10,patch=`{"matchConditions":[{"name":"none-of-an-installation","expression":"request.operation != 'CREATE' || object.metadata.?labels[?'app.kubernetes.io/name'].orValue('') != 'targetgate'"},{"name":"spec-changes","expression":"request.operation != 'UPDATE' || object.?spec != oldObject.?spec"}]}`

// New returns the handlers of reviews of Ingresses and of IngressClassParams. The reader is a cache, live asks the API server.
func New(reader, live client.Reader, options Options) (ingresses, params http.Handler) {
	checks := &validator{reader: reader, live: &liveClasses{reader: live}, owners: &owners{tags: options.Tags}, options: options}
	limiter := review.NewLimiter()
	for _, path := range []string{Path, ParamsPath} {
		review.BeginCounting(review.ValidationFailures, path)
	}
	return &handler{limiter, review.ValidationFailures, checks.review}, &handler{limiter, review.ValidationFailures, checks.reviewParams}
}

// NewBeforeCRD returns the handler at MutateParamsPath. It changes nothing, but answers before the API server goes by the CRD.
func NewBeforeCRD() http.Handler {
	review.BeginCounting(review.MutationFailures, MutateParamsPath)
	before := &beforeCRD{schema.MustOf(crd.IngressClassParams)}
	return &handler{review.NewLimiter(), review.MutationFailures, before.reviewParams}
}

// handler answers reviews.
type handler struct {
	limiter  *review.Limiter
	failures *prometheus.CounterVec
	decide   func(context.Context, *request) (verdict, error)
}

// request is the part of a review that is read.
type request struct {
	UID               types.UID             `json:"uid"`
	Operation         admissionv1.Operation `json:"operation"`
	Object, OldObject json.RawMessage
}

// verdict refuses an object if it has a reason to, else it warns.
type verdict struct {
	refusal  string
	warnings []string
}

func refuse(format string, args ...any) verdict {
	return verdict{refusal: fmt.Sprintf(format, args...)}
}

func warn(format string, args ...any) verdict {
	return verdict{warnings: []string{fmt.Sprintf(format, args...)}}
}

// answerWithin is half of what the webhook configuration gives an answer.
const answerWithin = 5 * time.Second

// ServeHTTP admits or refuses an object. Trouble of ours is a failed call, never a refusal.
func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	answer, err := h.answer(w, req)
	if err != nil {
		review.Fail(w, req, h.failures, err)
		return
	}
	review.Respond(w, answer)
}

func (h *handler) answer(w http.ResponseWriter, req *http.Request) ([]byte, error) {
	body, done, err := h.limiter.Read(w, req)
	if err != nil {
		return nil, err
	}
	defer done()
	var asked struct{ Request *request }
	err = h.limiter.Decode(req.Context(), body, func(body []byte) error { return json.Unmarshal(body, &asked) })
	if err != nil || asked.Request == nil {
		return nil, fmt.Errorf("decoding the review, which must have a request: %w", err)
	}
	ctx, cancel := context.WithTimeout(req.Context(), answerWithin)
	defer cancel()
	decided, err := h.decide(ctx, asked.Request)
	if err != nil {
		return nil, err
	}
	if decided.refusal == "" {
		return review.Answer{Warnings: bounded(decided.warnings)}.Admit(asked.Request.UID)
	}
	h.failures.WithLabelValues(req.URL.Path, http.StatusText(http.StatusForbidden)).Inc()
	return review.Refuse(asked.Request.UID, metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Message: review.CutTo(decided.refusal, mostRefused),
	})
}

// How much is said at once. Of all warnings of a request the API server keeps 4096 characters, of each 256.
const (
	mostWarnings = 16
	mostWarned   = 250
	mostRefused  = 2000
)

// bounded are the first warnings, shortened, and how many more there are.
func bounded(warnings []string) []string {
	more := len(warnings) - mostWarnings
	if more > 0 {
		warnings = append(warnings[:mostWarnings:mostWarnings], fmt.Sprintf("and %d more", more))
	}
	out := make([]string, 0, len(warnings))
	for _, warning := range warnings {
		out = append(out, review.CutTo(warning, mostWarned))
	}
	return out
}
