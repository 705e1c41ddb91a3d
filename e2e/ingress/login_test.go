//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/acm"
	"github.com/targetgate/targetgate/e2e/suite"
)

const (
	provider = `{"issuer":"https://idp.example","authorizationEndpoint":"https://idp.example/authorize","tokenEndpoint":"https://idp.example/token",` +
		`"userInfoEndpoint":"https://idp.example/user","secretName":"idp"}`
	pool = `{"userPoolARN":"arn:aws:cognito-idp:eu-west-1:123456789012:userpool/p","userPoolClientID":"shop","userPoolDomain":"shop"}`
)

// An Ingress that asks for a login is served to nobody before targetgate can read the Secret, and to nobody who has not logged in. A Secret
// that changes is written to AWS, and nothing else writes it.
func TestLogin(t *testing.T) { // by itself, as calls are counted
	app := newApp("login")
	app.Replicas = 1
	bed.Deploy(t, app)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: app.Name, Name: "idp"},
		StringData: map[string]string{"clientID": "shop", "clientSecret": "first"},
	}
	suite.Must(t, bed.Client.Create(t.Context(), secret))
	https := newTLS(t, "login.example.com")
	ingress := newIngress(app.Name, []networkingv1.IngressRule{rule(https.host, "/ "+app.Name)}, "target-type=ip",
		`listen-ports=[{"HTTP": 80}, {"HTTPS": 443}]`, "certificate-arn="+https.certificate.ARN, "auth-type=oidc", "auth-idp-oidc="+provider,
		"tags=team=web")
	refused := bed.Excuse()
	create(t, ingress)
	suite.Eventually(t, "an event", func() error { return said(t, ingress, "Secret login/idp may not be read: allow") })
	suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(ingress), ingress))
	if len(ingress.Status.LoadBalancer.Ingress) > 0 {
		t.Errorf("the status is %v, want no load balancer", ingress.Status)
	}
	allowSecret(t, app.Name, "idp")
	https.balancer = awaitHost(t, ingress)
	refused()
	suite.Eventually(t, "a login", func() error { return https.sendsTo("/cart", "https://idp.example/authorize?client_id=shop") })
	suite.Eventually(t, "an event", func() error { return said(t, ingress, "port 80 serves without authentication") })
	suite.Eventually(t, "an answer over HTTP", func() error { return answeredBy(t, app, https.balancer, https.host, "/cart") })
	suite.Must(t, https.hasSecret("first"))

	suite.Eventually(t, "no more writes", isQuiet)
	since := callsSoFar()
	secret.StringData = map[string]string{"clientSecret": "second\n"}
	suite.Must(t, bed.Client.Update(t.Context(), secret))
	suite.Eventually(t, "the other secret", func() error { return https.hasSecret("second") })
	change(t, ingress, func(i *networkingv1.Ingress) { i.Annotations[prefix+"tags"] = "team=web,stage=test" }) // another pass
	suite.Eventually(t, "another tag", func() error {
		if !slices.Contains(writesSince(since), "AddTags") {
			return errors.New("no tag is written")
		}
		return nil
	})
	suite.Eventually(t, "no more writes", isQuiet)
	changes := slices.DeleteFunc(writesSince(since), func(operation string) bool {
		return strings.HasSuffix(operation, "Tags")
	})
	if !slices.Equal(changes, []string{"ModifyRule"}) {
		t.Errorf("a change of the Secret and of a tag made the calls %v, want ModifyRule once", changes)
	}

	for _, step := range []struct{ annotate, want string }{
		{"auth-on-unauthenticated-request=deny", "401"},
		{"auth-on-unauthenticated-request=allow", "200"},
		{"auth-type=cognito;auth-idp-cognito=" + pool + ";auth-on-unauthenticated-request=authenticate",
			"https://shop.auth.eu-west-1.amazoncognito.com/oauth2/authorize?client_id=shop"},
		{`auth-type=none;jwt-validation={"jwksEndpoint":"https://idp.example/keys","issuer":"https://idp.example"}`, "401"},
	} {
		annotate(t, ingress, step.annotate)
		suite.Eventually(t, step.annotate, func() error { return https.sendsTo("/cart", step.want) })
	}
	annotate(t, ingress, `jwt-validation;transforms.login=[{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"^/cart(.*)","replace":"/basket$1"}]}}]`)
	suite.Eventually(t, "another path", func() error {
		status, header, err := https.get("/cart/1")
		if err == nil && header.Get("X-Path") != "/basket/1" {
			err = fmt.Errorf("%s, path %q", status, header.Get("X-Path"))
		}
		return err
	})
	suite.Must(t, bed.Client.Delete(t.Context(), ingress.DeepCopy()))
	awaitGone(t, ingress, "login/login")
}

// Clients of an HTTPS listener show a certificate of a trust store.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	app := newApp("mutual")
	app.Replicas = 1
	bed.Deploy(t, app)
	certificate, roots := clientCertificate(t)
	bed.AWS.ELB.AddTrustStore("partners", roots)
	https := newTLS(t, "mutual.example.com")
	ingress := newIngress(app.Name, []networkingv1.IngressRule{rule(https.host, "/ "+app.Name)}, "target-type=ip",
		`listen-ports=[{"HTTPS": 443}]`, "certificate-arn="+https.certificate.ARN,
		`mutual-authentication=[{"port": 443, "mode": "verify", "trustStore": "partners"}]`)
	create(t, ingress)
	https.balancer = awaitHost(t, ingress)
	https.client = &certificate
	suite.Eventually(t, "an answer with a certificate", func() error { return https.sendsTo("/", "200") })
	https.client = nil
	if err := https.sendsTo("/", "200"); err == nil {
		t.Error("a client without a certificate is answered")
	}
	annotate(t, ingress, "mutual-authentication") // as with the incumbent, what there is stays
	annotate(t, ingress, `mutual-authentication=[{"port": 443, "mode": "off"}]`)
	suite.Eventually(t, "an answer without a certificate", func() error { return https.sendsTo("/", "200") })
}

// overTLS asks a host of a load balancer over HTTPS.
type overTLS struct {
	host, balancer string
	certificate    acm.Certificate
	client         *tls.Certificate
}

func newTLS(t *testing.T, host string) *overTLS {
	t.Helper()
	certificate, err := bed.AWS.ACM.Add("", acm.Spec{Domains: []string{host}})
	suite.Must(t, err)
	return &overTLS{host: host, certificate: certificate}
}

func (o *overTLS) get(path string) (status string, header http.Header, err error) {
	parsed, err := x509.ParseCertificate(o.certificate.Pair.Certificate[0])
	if err != nil {
		return "", nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	transport := resolver(o.host, o.balancer).Transport(roots)
	defer transport.CloseIdleConnections()
	if o.client != nil {
		transport.TLSClientConfig.Certificates = []tls.Certificate{*o.client}
	}
	request, err := http.NewRequest(http.MethodGet, "https://"+o.host+path, http.NoBody)
	if err != nil {
		return "", nil, err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "", nil, err
	}
	return response.Status, response.Header, response.Body.Close()
}

// sendsTo is an error unless the answer has that status, or sends the client to a place that begins so.
func (o *overTLS) sendsTo(path, want string) error {
	status, header, err := o.get(path)
	if err != nil {
		return err
	}
	location := header.Get("Location")
	if !strings.HasPrefix(status, want) && (location == "" || !strings.HasPrefix(location, want)) {
		return fmt.Errorf("%s, to %q, want %s", status, location, want)
	}
	return nil
}

// hasSecret is an error unless the rules of the HTTPS listener have that secret.
func (o *overTLS) hasSecret(want string) error {
	aws := bed.AWS
	balancer, _ := aws.ELB.BalancerNamed(o.balancer)
	listeners, err := aws.ELB.Listeners(balancer.ARN)
	if err != nil {
		return err
	}
	for _, listener := range listeners {
		rules, err := aws.ELB.Rules(listener.ARN)
		if err != nil {
			return err
		}
		for _, rule := range rules {
			if auth := rule.Action.Auth; auth != nil && auth.OIDC != nil && auth.OIDC.Secret == want {
				return nil
			}
		}
	}
	return fmt.Errorf("no rule has the secret %q", want)
}

// annotate sets annotations "name=value", and removes those "name", with semicolons between them.
func annotate(t *testing.T, ingress *networkingv1.Ingress, annotations string) {
	t.Helper()
	change(t, ingress, func(i *networkingv1.Ingress) {
		for annotation := range strings.SplitSeq(annotations, ";") {
			name, value, set := strings.Cut(annotation, "=")
			if i.Annotations[prefix+name] = value; !set {
				delete(i.Annotations, prefix+name)
			}
		}
	})
}

// allowSecret lets targetgate read one Secret, as INGRESS.md says.
func allowSecret(t *testing.T, namespace, name string) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "read-login"}
	suite.Must(t, bed.Client.Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{name}, Verbs: []string{"get", "list", "watch"},
	}}}))
	suite.Must(t, bed.Client.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "targetgate-system", Name: "targetgate"}},
	}))
}

// clientCertificate is one that signs itself, with the pool of a trust store that has it.
func clientCertificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	suite.Must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	suite.Must(t, err)
	parsed, err := x509.ParseCertificate(der)
	suite.Must(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}
