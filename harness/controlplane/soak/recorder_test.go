package main

import "testing"

func TestWithoutManagedFields(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":{"uid":"u","managedFields":[{"f":{"k:[":"]}\""}},[1]]},"b":1}`: `{"a":{"uid":"u"},"b":1}`,
		`{"a":{"uid":"u"}}`: `{"a":{"uid":"u"}}`,
		`{"note":",\"managedFields\":[","managedFields":[]}`: `{"note":",\"managedFields\":["}`,
	} {
		if got := string(withoutManagedFields([]byte(in))); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}
