// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonapi

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

const jsonContentType = "application/x-amz-json-1.1"

// services are those that speak the JSON protocol, by the first part of X-Amz-Target.
var services = map[string]*call.Service{
	acmService.Version:        &acmService,
	wafService.Version:        &wafService,
	wafClassicService.Version: &wafClassicService,
	shieldService.Version:     &shieldService,
}

// Parse reads the body of a call and finds its operation by target, which is SERVICE.OPERATION.
func Parse(q *call.Request, r *http.Request, target string) (call.Action, error) {
	at := strings.LastIndex(target, ".")
	name := target[:max(at, 0)]
	q.Service = &acmService // the form of errors for what cannot be understood
	q.Operation = target[at+1:]
	if found, ok := services[name]; ok {
		q.Service = found
	}
	act, ok := q.Service.Actions[q.Operation]
	if !ok || q.Service.Version != name {
		return nil, refusal.New("UnknownOperationException", "Could not find operation %s", target)
	}
	decoder := json.NewDecoder(io.LimitReader(r.Body, call.LargestBody))
	decoder.UseNumber()
	var body map[string]any
	if err := decoder.Decode(&body); err != nil {
		return nil, refusal.New("SerializationException", "The request could not be read: %v", err)
	}
	q.Fill(body)
	return act, nil
}

func jsonAnswer(_, _, _ string, result any) ([]byte, error) { return json.Marshal(result) }

// jsonCodes are the names that services of the JSON protocol have for refusals of all services.
var jsonCodes = map[string]string{
	"AccessDenied":               "AccessDeniedException",
	"ExpiredToken":               "ExpiredTokenException",
	"InvalidClientTokenId":       "UnrecognizedClientException",
	"MissingAuthenticationToken": "MissingAuthenticationTokenException",
	"UnknownParameter":           "ValidationException",
}

func jsonRefusal(_, _ string, _ int, e *refusal.Error) ([]byte, error) {
	code := e.Code
	if own, ok := jsonCodes[code]; ok {
		code = own
	}
	return json.Marshal(struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}{code, e.Message})
}

// numberedPage cuts a page out of a list; the token is the place where the next one begins, "" is none.
func numberedPage[T any](all []T, size int, token, code string) (page []T, next string, err error) {
	start := 0
	if token != "" {
		start, err = strconv.Atoi(token)
		if err != nil || start < 0 || start > len(all) {
			return nil, "", refusal.New(code, "The token '%s' is not valid", token)
		}
	}
	end := start + size
	if end >= len(all) {
		return all[start:], "", nil
	}
	return all[start:end], strconv.Itoa(end), nil
}
