package tableio

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
)

// knownTransforms is what a partition field may be, for errors.
const knownTransforms = "a column's name, year(c), month(c), day(c), hour(c), bucket(N, c), truncate(W, c) or void(c)"

// ParsePartition makes a partition spec for the schema from texts such as region, day(event_time), bucket(16, id) and
// truncate(4, name). Fields are named as Iceberg's Java builder names them: region, event_time_day, id_bucket, name_trunc.
// No text at all is an unpartitioned table. Errors name the text and the column.
func ParsePartition(schema *iceberg.Schema, by []string) (*iceberg.PartitionSpec, error) {
	if len(by) == 0 {
		return iceberg.UnpartitionedSpec, nil
	}
	opts := make([]iceberg.PartitionOption, 0, len(by)+1)
	names := map[string]string{}
	for i, text := range by {
		f, err := parsePartitionField(schema, text)
		if err != nil {
			return nil, fmt.Errorf("partition field %q: %w", text, err)
		}
		if other, ok := names[f.name]; ok {
			return nil, fmt.Errorf("partition field %q: its name %s is that of %q already; drop one of them", text, f.name, other)
		}
		names[f.name] = text
		id := iceberg.PartitionDataIDStart + i
		opts = append(opts, iceberg.AddPartitionFieldBySourceID(f.source.ID, f.name, f.transform, schema, &id))
	}
	if err := checkDecimals(schema, by); err != nil {
		return nil, err
	}
	spec, err := iceberg.NewPartitionSpecOpts(opts...)
	if err != nil {
		return nil, fmt.Errorf("partition fields %s: %w", strings.Join(by, ", "), err)
	}
	return &spec, nil
}

// checkDecimals refuses what iceberg-go can't write: it gives the Avro types of all decimals in a partition tuple one name,
// and leaves a scale of 0 out, which other engines do not read.
func checkDecimals(schema *iceberg.Schema, by []string) error {
	first := ""
	for _, text := range by {
		f, err := parsePartitionField(schema, text)
		if err != nil {
			return err
		}
		d, ok := f.transform.ResultType(f.source.Type).(iceberg.DecimalType)
		switch {
		case !ok:
		case d.Scale() == 0:
			return fmt.Errorf("partition field %q: values of type %s can't be written so that other engines read them; take a bucket of the column, or give it a scale above 0", text, d)
		case first != "":
			return fmt.Errorf("partition fields %q and %q: only one may have decimal values; take a bucket of the other", first, text)
		default:
			first = text
		}
	}
	return nil
}

type partitionField struct {
	source    iceberg.NestedField
	name      string
	transform iceberg.Transform
}

func parsePartitionField(schema *iceberg.Schema, text string) (f partitionField, err error) {
	column, call, suffix := strings.TrimSpace(text), "identity", ""
	f.transform = iceberg.IdentityTransform{}
	// A column whose own name looks like a call is still a column.
	if _, ok := schema.FindFieldByName(column); !ok && strings.ContainsAny(column, "()") {
		var args string
		if call, args, err = splitCall(column); err != nil {
			return f, err
		}
		if f.transform, suffix, column, err = parseCall(call, args); err != nil {
			return f, err
		}
	}
	var ok bool
	if f.source, ok = schema.FindFieldByName(column); !ok {
		return f, fmt.Errorf("there is no column %q; the table has %s", column, columnNames(schema))
	}
	if !f.transform.CanTransform(f.source.Type) {
		return f, fmt.Errorf("%s can't be applied to column %s of type %s%s", call, column, f.source.Type, goodFor(call))
	}
	if parent := inRepeated(schema, f.source.ID); parent {
		return f, fmt.Errorf("column %s lies inside a list or a map, whose rows have many values; choose another", column)
	}
	f.name = column + suffix
	return f, nil
}

func splitCall(text string) (call, args string, err error) {
	call, args, ok := strings.Cut(text, "(")
	args, closed := strings.CutSuffix(strings.TrimSpace(args), ")")
	if !ok || !closed || strings.ContainsAny(args, "()") {
		return "", "", fmt.Errorf("the parentheses do not match; write %s", knownTransforms)
	}
	return strings.ToLower(strings.TrimSpace(call)), args, nil
}

func parseCall(call, args string) (t iceberg.Transform, suffix, column string, err error) {
	column = strings.TrimSpace(args)
	switch call {
	case "identity":
		return iceberg.IdentityTransform{}, "", column, nil
	case "year", "years":
		return iceberg.YearTransform{}, "_year", column, nil
	case "month", "months":
		return iceberg.MonthTransform{}, "_month", column, nil
	case "day", "days", "date":
		return iceberg.DayTransform{}, "_day", column, nil
	case "hour", "hours":
		return iceberg.HourTransform{}, "_hour", column, nil
	case "void":
		return iceberg.VoidTransform{}, "_null", column, nil
	case "bucket", "truncate":
		n, column, err := numberAndColumn(call, args)
		if err != nil {
			return nil, "", "", err
		}
		if call == "bucket" {
			return iceberg.BucketTransform{NumBuckets: n}, "_bucket", column, nil
		}
		return iceberg.TruncateTransform{Width: n}, "_trunc", column, nil
	}
	return nil, "", "", fmt.Errorf("%q is no transform; write %s", call, knownTransforms)
}

// numberAndColumn takes the two arguments in either order, as engines differ.
func numberAndColumn(call, args string) (int, string, error) {
	a, b, ok := strings.Cut(args, ",")
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	if ok {
		for _, p := range [][2]string{{a, b}, {b, a}} {
			n, err := strconv.ParseUint(p[0], 10, 31)
			if err == nil && n > 0 && p[1] != "" {
				return int(n), p[1], nil
			}
		}
	}
	return 0, "", fmt.Errorf("%s needs a number above zero and a column; write for example %s(16, id)", call, call)
}

func goodFor(call string) string {
	switch call {
	case "year", "years", "month", "months", "day", "days", "date":
		return "; it takes a date or a timestamp"
	case "hour", "hours":
		return "; it takes a timestamp"
	case "bucket":
		return "; it takes int, long, decimal, date, time, timestamp, string, uuid, fixed or binary"
	case "truncate":
		return "; it takes int, long, decimal, string or binary"
	}
	return "; it takes a column of a primitive type"
}

func columnNames(schema *iceberg.Schema) string {
	var names []string
	for i, f := range schema.Fields() {
		if i == 20 {
			names = append(names, "...")
			break
		}
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// inRepeated says that the field lies inside a list or a map.
func inRepeated(schema *iceberg.Schema, id int) bool {
	var within func(fields []iceberg.NestedField, repeated bool) (found, in bool)
	within = func(fields []iceberg.NestedField, repeated bool) (bool, bool) {
		for _, f := range fields {
			if f.ID == id {
				return true, repeated
			}
			nested, ok := f.Type.(iceberg.NestedType)
			if !ok {
				continue
			}
			_, isStruct := nested.(*iceberg.StructType)
			if found, in := within(nested.Fields(), repeated || !isStruct); found {
				return true, in
			}
		}
		return false, false
	}
	_, in := within(schema.Fields(), false)
	return in
}
