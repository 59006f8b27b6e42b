package main

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"strings"
)

// rewrite applies the edits of a file. An edit that does not apply exactly as often as it says is an error.
func rewrite(name, source string, edits edits) (string, error) {
	for _, s := range edits.substitutions {
		if found := strings.Count(source, s.old); found != s.times {
			return "", fmt.Errorf("%s: %q occurs %d times, not %d: has upstream changed?", name, s.old, found, s.times)
		}
		source = strings.ReplaceAll(source, s.old, s.new)
	}
	for _, b := range edits.bodies {
		var err error
		if source, err = replaceBody(name, source, b); err != nil {
			return "", err
		}
	}
	formatted, err := format.Source([]byte(source))
	return string(formatted), err
}

func replaceBody(name, source string, b body) (string, error) {
	positions, file, err := parse(name, source)
	if err != nil {
		return "", err
	}
	function := find(file, b.function)
	if function == nil {
		return "", fmt.Errorf("%s: there is no function %s: has upstream changed?", name, b.function)
	}
	offset := func(at token.Pos) int { return positions.Position(at).Offset }
	signature := strings.TrimSpace(source[offset(function.Name.End()):offset(function.Body.Lbrace)])
	if signature != b.signature {
		return "", fmt.Errorf("%s: %s is %s, not %s: has upstream changed?", name, b.function, signature, b.signature)
	}
	return source[:offset(function.Body.Lbrace)] + b.new + source[offset(function.Body.Rbrace)+1:], nil
}

func parse(name, source string) (*token.FileSet, *ast.File, error) {
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, name, source, parser.SkipObjectResolution)
	return positions, file, err
}

func find(file *ast.File, function string) *ast.FuncDecl {
	for _, declaration := range file.Decls {
		found, ok := declaration.(*ast.FuncDecl)
		if ok && found.Recv == nil && found.Name.Name == function && found.Body != nil {
			return found
		}
	}
	return nil
}

// tests are the names of the tests and of the benchmarks of a file, in its order.
func tests(name, source string) (tests, benchmarks []string, err error) {
	_, file, err := parse(name, source)
	if err != nil {
		return nil, nil, err
	}
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		switch {
		case !ok || function.Recv != nil:
		case function.Name.Name == "TestMain": // runs the tests
		case strings.HasPrefix(function.Name.Name, "Test"):
			tests = append(tests, function.Name.Name)
		case strings.HasPrefix(function.Name.Name, "Benchmark"):
			benchmarks = append(benchmarks, function.Name.Name)
		}
	}
	return tests, benchmarks, nil
}
