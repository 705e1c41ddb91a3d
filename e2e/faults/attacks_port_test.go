// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package faults

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/suite"
)

// insecure is a client that does not ask who answers, as somebody in the cluster who is no API server.
var insecure = newStranger()

func newStranger() *http.Client {
	return &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	}
}

// review posts a review to that path of targetgate's, and returns the status of the answer.
func review(from *http.Client, path, resource string) (status int, err error) {
	body := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"CREATE","namespace":"default",` +
		resource + `}}`
	resp, err := from.Post(bed.Targetgate.WebhookURL()+path, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

func reviewPod(from *http.Client) error {
	status, err := review(from, "/mutate-v1-pod", `"kind":{"version":"v1","kind":"Pod"},"resource":{"version":"v1","resource":"pods"},`+
		`"object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"app":"a"}},"spec":{"containers":[{"name":"a"}]}}`)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("a review of a pod is answered with %d", status)
	}
	return err
}

// slowest is the time that 99 of 100 reviews take at most, one after the other for so long.
func slowest(t *testing.T, during time.Duration) time.Duration {
	t.Helper()
	var took []time.Duration
	for begun := time.Now(); time.Since(begun) < during; time.Sleep(2 * time.Millisecond) {
		asked := time.Now()
		suite.Must(t, reviewPod(insecure))
		took = append(took, time.Since(asked))
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}

// sendHeaders sends 1 MiB of headers that do not end, and waits for the connection's end or for 2 s.
func sendHeaders() error {
	c, err := tls.Dial("tcp", strings.TrimPrefix(bed.Targetgate.WebhookURL(), "https://"), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	_, _ = io.WriteString(c, "POST /mutate-v1-pod HTTP/1.1\r\nHost: webhook\r\n"+strings.Repeat("a:\n", 1<<20/3))
	_, _ = io.Copy(io.Discard, c)
	return nil
}

// askTen asks for ten reviews on a connection of its own.
func askTen() error {
	stranger := newStranger()
	defer stranger.CloseIdleConnections()
	for range 10 {
		if err := reviewPod(stranger); err != nil {
			return err
		}
	}
	return nil
}

// 60 clients that send 1 MiB of headers, and wait, cost no more than 60 that ask for ten reviews, and nobody waits longer for them: both
// work on the cores that targetgate has, as they are in this process.
func TestEndlessHeadersHarmNoOtherClient(t *testing.T) {
	bed.WithFlags(t)
	slowest(t, time.Second) // to warm up
	suite.InOneOfThree(t, "headers to cost as little as reviews", func() bool {
		begun := processorSeconds(t)
		usual := slowestAmong(t, askTen)
		turned := processorSeconds(t)
		attacked := slowestAmong(t, sendHeaders)
		spent, cost := turned-begun, processorSeconds(t)-turned
		t.Logf("99 %% of reviews took %s among reviews, %s among headers, targetgate %.1f and %.1f s of processor time",
			usual, attacked, spent, cost)
		assertMemory(t)
		return attacked <= usual*3/2+noise && cost <= spent*3/2
	})
}

// slowestAmong has 60 clients connect three times each, beginning one after the other.
func slowestAmong(t *testing.T, connect func() error) time.Duration {
	t.Helper()
	var clients sync.WaitGroup
	defer clients.Wait()
	for i := range 60 {
		clients.Go(func() {
			time.Sleep(time.Duration(i) * 50 * time.Millisecond)
			for range 3 {
				if err := connect(); err != nil {
					t.Errorf("one of the others: %v", err)
				}
				time.Sleep(time.Second)
			}
		})
	}
	return slowest(t, 5*time.Second)
}

// One address that opens connections without end closes its own, and new ones are taken all the time.
func TestIdleConnectionsExcludeNoClient(t *testing.T) {
	bed.WithFlags(t)
	for range 400 {
		c, err := tls.Dial("tcp", strings.TrimPrefix(bed.Targetgate.WebhookURL(), "https://"), &tls.Config{InsecureSkipVerify: true})
		suite.Must(t, err)
		defer c.Close()
	}
	insecure.CloseIdleConnections()
	begin := time.Now()
	suite.Must(t, reviewPod(insecure))
	if took := time.Since(begin); took > time.Second {
		t.Errorf("a review on a new connection took %s", took)
	}
}

func TestOnlyAPIServersAskAboutBindings(t *testing.T) {
	const binding = `"kind":{"group":"elbv2.k8s.aws","version":"v1beta1","kind":"TargetGroupBinding"},"object":{"apiVersion":"elbv2.k8s.aws/v1beta1",` +
		`"kind":"TargetGroupBinding","metadata":{"name":"a","namespace":"default"},"spec":{"targetGroupName":"none","serviceRef":{"name":"a","port":80}}}`
	const path = "/mutate-elbv2-k8s-aws-v1beta1-targetgroupbinding"
	bed.WithFlags(t, "--webhook-secret-paths")
	suite.Eventually(t, "the paths to begin with a secret", func() error {
		mutating, validating, err := bed.ReadWebhooks(t.Context())
		if err != nil {
			return err
		}
		for _, p := range []*string{
			mutating.Webhooks[0].ClientConfig.Service.Path, mutating.Webhooks[1].ClientConfig.Service.Path,
			validating.Webhooks[0].ClientConfig.Service.Path,
		} {
			if len(*p) < 64 {
				return fmt.Errorf("a path is %s", *p)
			}
		}
		return nil
	})
	suite.Eventually(t, "API servers to ask by these", func() error { return bed.AskWebhook(t.Context()) })
	if status, err := review(insecure, path, binding); status != http.StatusNotFound {
		t.Errorf("a stranger who asks about a binding is answered with %d, error %v", status, err)
	}
	suite.Must(t, reviewPod(insecure))

	suite.Must(t, bed.ReplaceWebhooks(t.Context(), "")) // as a GitOps tool does
	suite.Eventually(t, "the paths to begin with a secret again", func() error {
		mutating, _, err := bed.ReadWebhooks(t.Context())
		if err != nil || len(*mutating.Webhooks[1].ClientConfig.Service.Path) < 64 {
			return fmt.Errorf("not yet (%w)", err)
		}
		return bed.AskWebhook(t.Context())
	})

	suite.Must(t, bed.Targetgate.RestartWith(t.Context()))
	suite.Eventually(t, "the paths to be bare again", func() error {
		mutating, _, err := bed.ReadWebhooks(t.Context())
		if err != nil || *mutating.Webhooks[1].ClientConfig.Service.Path != path {
			return fmt.Errorf("not yet (%w)", err)
		}
		return bed.AskWebhook(t.Context())
	})
}
