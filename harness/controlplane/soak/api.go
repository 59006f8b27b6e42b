package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Object is a decoded JSON object. The driver deliberately knows no Go types of
// Kubernetes: what it sends is what it says, and what it stores is the server's text.
type Object = map[string]any

const (
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
	jsonPatch      = "application/json-patch+json"
	applyPatch     = "application/apply-patch+yaml"
	jsonBody       = "application/json"
)

// Client is one actor: a token (so that the audit log names the user) and a user agent.
type Client struct {
	base, token, agent string
	http               *http.Client
}

func newClient(base, token, agent string) *Client {
	// The server's certificate is made by itself for this run; nothing secret travels here.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 8}
	return &Client{base, token, agent, &http.Client{Transport: transport}}
}

func (c *Client) request(method, path, contentType string, body any) (*http.Response, error) {
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, c.base+path, reader)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("User-Agent", c.agent)
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", contentType)
	}
	return c.http.Do(request)
}

// do sends one request and returns the status code and the answer. A refusal is not an error.
func (c *Client) do(method, path, contentType string, body any) (int, Object, error) {
	response, err := c.request(method, path, contentType, body)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return response.StatusCode, nil, err
	}
	var answer Object
	if err := json.Unmarshal(text, &answer); err != nil {
		return response.StatusCode, nil, fmt.Errorf("%s %s: %d: %.200s", method, path, response.StatusCode, text)
	}
	return response.StatusCode, answer, nil
}

// must is do for requests that only fail when something is wrong with the driver.
func (c *Client) must(method, path, contentType string, body any) Object {
	code, answer, err := c.do(method, path, contentType, body)
	if err != nil || code >= 300 {
		panic(fmt.Sprintf("%s %s: %d %v %v", method, path, code, answer["message"], err))
	}
	return answer
}

func jobsPath(namespace, rest string) string {
	return "/apis/batch/v1/namespaces/" + namespace + "/jobs" + rest
}

func podsPath(namespace, rest string) string {
	return "/api/v1/namespaces/" + namespace + "/pods" + rest
}

// dig follows keys into nested objects; nil when a key is missing.
func dig(object any, keys ...string) any {
	for _, key := range keys {
		inner, ok := object.(Object)
		if !ok {
			return nil
		}
		object = inner[key]
	}
	return object
}

func str(object any, keys ...string) string {
	text, _ := dig(object, keys...).(string)
	return text
}

func num(object any, keys ...string) int {
	number, _ := dig(object, keys...).(float64)
	return int(number)
}

func has(object any, keys ...string) bool { return dig(object, keys...) != nil }

func name(object Object) string { return str(object, "metadata", "name") }

func terminating(object Object) bool { return has(object, "metadata", "deletionTimestamp") }

func finalizers(object Object) []string {
	var all []string
	list, _ := dig(object, "metadata", "finalizers").([]any)
	for _, item := range list {
		all = append(all, item.(string))
	}
	return all
}

func held(object Object) bool {
	for _, finalizer := range finalizers(object) {
		if finalizer == holdFinalizer {
			return true
		}
	}
	return false
}

func phase(pod Object) string { return str(pod, "status", "phase") }

func ended(pod Object) bool { return phase(pod) == "Succeeded" || phase(pod) == "Failed" }

// condition returns the status of the job's condition of that type, "" when it has none.
func condition(job Object, kind string) string {
	list, _ := dig(job, "status", "conditions").([]any)
	for _, item := range list {
		if str(item, "type") == kind {
			return str(item, "status")
		}
	}
	return ""
}

func finished(job Object) bool {
	return condition(job, "Complete") == "True" || condition(job, "Failed") == "True"
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

func isTrue(object any, keys ...string) bool {
	value, _ := dig(object, keys...).(bool)
	return value
}
