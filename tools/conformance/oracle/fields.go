package oracle

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Field is one leaf of an answer: where it stands and what it says.
type Field struct{ Path, Value string }

// present is the value of a list element itself, so that an element that one
// broker lacks is one difference and not one for each field in it.
const present = "present"

// fields writes v down depth first, in the order of the wire. Lists matched by a
// Keyed rule are sorted and named by that field, others by position.
func fields(dst []Field, path string, v reflect.Value, rules []Rule) []Field {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return append(dst, Field{path, "null"})
		}
		return fields(dst, path, v.Elem(), rules)
	case reflect.Struct:
		return structFields(dst, path, v, rules)
	case reflect.Slice, reflect.Array:
		return listFields(dst, path, v, rules)
	}
	return append(dst, Field{path, scalar(path, v)})
}

func structFields(dst []Field, path string, v reflect.Value, rules []Rule) []Field {
	if tags, ok := v.Interface().(kmsg.Tags); ok {
		if tags.Len() > 0 {
			dst = append(dst, Field{path, fmt.Sprintf("%d unknown tags", tags.Len())})
		}
		return dst
	}
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if name == "Version" {
			continue // ours, not the broker's
		}
		dst = fields(dst, path+"."+name, v.Field(i), rules)
	}
	return dst
}

func listFields(dst []Field, path string, v reflect.Value, rules []Rule) []Field {
	if b, ok := v.Interface().([]byte); ok {
		if strings.HasSuffix(path, ".RecordBatches") {
			return batchFields(dst, path, b)
		}
		if b == nil {
			return append(dst, Field{path, "null"})
		}
		return append(dst, Field{path, strconv.Quote(string(b))})
	}
	if id, ok := v.Interface().([16]byte); ok {
		return append(dst, Field{path, hex.EncodeToString(id[:])})
	}
	if v.Len() == 0 {
		value := "[]"
		if v.IsNil() {
			value = "null"
		}
		return append(dst, Field{path, value})
	}
	if isScalar(v.Type().Elem().Kind()) {
		return append(dst, Field{path, fmt.Sprint(v.Interface())})
	}
	names := elementNames(path, v, rules)
	order := make([]int, v.Len())
	for i := range order {
		order[i] = i
	}
	if names != nil {
		sort.SliceStable(order, func(a, b int) bool { return names[order[a]] < names[order[b]] })
	}
	for _, i := range order {
		name := strconv.Itoa(i)
		if names != nil {
			name = names[i]
		}
		element := path + "[" + name + "]"
		dst = append(dst, Field{element, present})
		dst = fields(dst, element, v.Index(i), rules)
	}
	return dst
}

// elementNames gives the name of each element of the list at path, or nil if no
// Keyed rule speaks of it.
func elementNames(path string, v reflect.Value, rules []Rule) []string {
	for _, r := range rules {
		if r.key == "" || !match(r.pattern, path) {
			continue
		}
		names := make([]string, v.Len())
		for i := range names {
			f := v.Index(i).FieldByName(r.key)
			if f.Kind() == reflect.Pointer && !f.IsNil() {
				f = f.Elem()
			}
			quoted := strconv.QuoteToASCII(fmt.Sprint(f.Interface())) // names that no topic may have stay legible
			names[i] = quoted[1 : len(quoted)-1]
		}
		return names
	}
	return nil
}

func isScalar(k reflect.Kind) bool {
	return k == reflect.Bool || k == reflect.String || k >= reflect.Int && k <= reflect.Int64
}

func scalar(path string, v reflect.Value) string {
	if strings.HasSuffix(path, "ErrorCode") {
		return errorName(int16(v.Int()))
	}
	if v.Kind() == reflect.String {
		return strconv.Quote(v.String())
	}
	if v.CanInt() { // named integers print as numbers, not by their String method
		return strconv.FormatInt(v.Int(), 10)
	}
	return fmt.Sprint(v.Interface())
}

func errorName(code int16) string {
	if code == 0 {
		return "0"
	}
	return fmt.Sprintf("%d %s", code, kerr.TypedErrorForCode(code).Message)
}
