package faultproxy

import (
	"net/http"
	"slices"
	"strings"
)

// Request is what an API server would call the request's attributes.
type Request struct {
	Verb      string // as in an audit log: get, list, watch, create, update, patch, delete, deletecollection
	Group     string // "" is the core group
	Resource  string // with the subresource, such as "jobs/status"; "" for a path that is no resource
	Namespace string
	Name      string
	UserAgent string
}

// Match chooses requests. An empty field matches every request.
type Match struct {
	Verb, Resource, Namespace, Name string
	UserAgent                       string // a part of it
}

// Fits says whether the request is one of those that are meant.
func (m Match) Fits(r Request) bool {
	return (m.Verb == "" || m.Verb == r.Verb) && (m.Resource == "" || m.Resource == r.Resource) &&
		(m.Namespace == "" || m.Namespace == r.Namespace) && (m.Name == "" || m.Name == r.Name) &&
		strings.Contains(r.UserAgent, m.UserAgent)
}

// attributes reads the path as k8s.io/apiserver's RequestInfoFactory does.
func attributes(r *http.Request) Request {
	found := Request{Verb: strings.ToLower(r.Method), UserAgent: r.UserAgent()}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		found.Group, parts = parts[1], parts[3:]
	default:
		return found
	}
	if parts[0] == "namespaces" && len(parts) > 1 {
		found.Namespace = parts[1]
		if len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
			parts = parts[2:]
		}
	}
	found.Resource = parts[0]
	if len(parts) > 1 {
		found.Name = parts[1]
	}
	if len(parts) > 2 {
		found.Resource += "/" + parts[2]
	}
	found.Verb = verb(r, found.Name != "")
	return found
}

func verb(r *http.Request, named bool) string {
	switch r.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if named {
			return "delete"
		}
		return "deletecollection"
	}
	watches := slices.Contains([]string{"1", "true"}, r.URL.Query().Get("watch"))
	switch {
	case named:
		return "get"
	case watches:
		return "watch"
	}
	return "list"
}
