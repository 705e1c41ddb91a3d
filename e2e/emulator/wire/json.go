// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

const (
	jsonContentType = "application/x-amz-json-1.1"
	largestBody     = 1 << 20
)

// jsonServices are those that speak the JSON protocol, by the first part of X-Amz-Target.
var jsonServices = map[string]service{
	acmService.version:        acmService,
	wafService.version:        wafService,
	wafClassicService.version: wafClassicService,
	shieldService.version:     shieldService,
}

// parseJSON reads the body and finds the operation by X-Amz-Target, which is SERVICE.OPERATION.
func (q *request) parseJSON(r *http.Request, target string) (action, error) {
	at := strings.LastIndex(target, ".")
	name := target[:max(at, 0)]
	q.service = acmService // the form of errors for what cannot be understood
	q.operation = target[at+1:]
	q.log.Operation = q.operation
	q.params = &params{}
	if found, ok := jsonServices[name]; ok {
		q.service = found
	}
	act, ok := q.service.actions[q.operation]
	if !ok || q.service.version != name {
		return nil, state.Refuse("UnknownOperationException", "Could not find operation %s", target)
	}
	decoder := json.NewDecoder(io.LimitReader(r.Body, largestBody))
	decoder.UseNumber()
	var body map[string]any
	if err := decoder.Decode(&body); err != nil {
		return nil, state.Refuse("SerializationException", "The request could not be read: %v", err)
	}
	q.fill(body)
	return act, nil
}

// fill takes JSON in as a form has it: the entries of a list are numbered from 1.
func (p *params) fill(value any) {
	switch value := value.(type) {
	case nil:
	case map[string]any:
		for name, field := range value {
			p.grow(name).fill(field)
		}
	case []any:
		for i, entry := range value {
			p.grow(strconv.Itoa(i + 1)).fill(entry)
		}
	default:
		p.value = fmt.Sprint(value)
	}
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

func jsonRefusal(_, _ string, _ int, e *state.Error) ([]byte, error) {
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
func numberedPage[T any](all []T, size int, token, refusal string) (page []T, next string, err error) {
	start := 0
	if token != "" {
		start, err = strconv.Atoi(token)
		if err != nil || start < 0 || start > len(all) {
			return nil, "", state.Refuse(refusal, "The token '%s' is not valid", token)
		}
	}
	end := start + size
	if end >= len(all) {
		return all[start:], "", nil
	}
	return all[start:end], strconv.Itoa(end), nil
}
