// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/routing"
)

// hasToken reports whether a request has the JSON Web Token that is wanted.
func (p *Plane) hasToken(r *http.Request, wanted *routing.JWTAuth) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	parts := strings.Split(token, ".")
	if !ok || len(parts) != 3 {
		return false
	}
	var header struct{ Alg, Kid string }
	var claims map[string]any
	if !decode(parts[0], &header) || !decode(parts[1], &claims) || header.Alg != "RS256" {
		return false
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return false
	}
	key := p.key(r.Context(), wanted.JWKS, header.Kid)
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	return key != nil && rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], signature) == nil && fits(claims, wanted, p.now())
}

func decode(part string, into any) bool {
	text, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(text, into) == nil
}

// key is nil when the provider does not publish it.
func (p *Plane) key(ctx context.Context, endpoint, id string) *rsa.PublicKey {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, http.NoBody)
	if err != nil {
		return nil
	}
	var set struct {
		Keys []struct{ Kty, Kid, N, E string }
	}
	if err := p.fetch(request, &set); err != nil {
		p.opts.Log.Error(err, "fetching keys of tokens")
		return nil
	}
	for _, k := range set.Keys {
		n, errN := base64.RawURLEncoding.DecodeString(k.N)
		e, errE := base64.RawURLEncoding.DecodeString(k.E)
		if k.Kty == "RSA" && k.Kid == id && errN == nil && errE == nil {
			return &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
		}
	}
	return nil
}

// fits checks claims: a token that does not say when it expires does not fit.
func fits(claims map[string]any, wanted *routing.JWTAuth, now time.Time) bool {
	seconds := float64(now.Unix())
	if expires, ok := claims["exp"].(float64); !ok || expires <= seconds || claims["iss"] != wanted.Issuer {
		return false
	}
	for _, name := range []string{"nbf", "iat"} {
		if from, ok := claims[name].(float64); ok && from > seconds {
			return false
		}
	}
	return !slices.ContainsFunc(wanted.Claims, func(c routing.Claim) bool {
		return !slices.ContainsFunc(values(c.Format, claims[c.Name]), func(v string) bool { return slices.Contains(c.Values, v) })
	})
}

// values are those of a claim in that format.
func values(format string, claim any) (list []string) {
	text, isText := claim.(string)
	array, isArray := claim.([]any)
	switch {
	case format == routing.ClaimString && isText:
		return []string{text}
	case format == routing.ClaimWords && isText:
		return strings.Fields(text)
	case format == routing.ClaimArray && isArray:
		for _, v := range array {
			if text, ok := v.(string); ok {
				list = append(list, text)
			}
		}
	}
	return list
}
