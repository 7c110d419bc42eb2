package services

import (
	"context"
	"path/filepath"
	"strings"
)

// Engines are what reads and writes tables beside floe: Spark with Iceberg's runtime, Python's readers, and one in JavaScript.
type Engines struct {
	// Python is Python's interpreter, PythonPath what its environment lacks: pyspark and DuckDB's way to S3.
	Python, PythonPath string
	// Jars are Iceberg's for Spark, Node is the folder of the JavaScript reader's packages.
	Jars []string
	Node string
}

// GetEngines gets what is missing, and starts nothing.
func GetEngines(ctx context.Context) (e Engines, err error) {
	if e.Python, err = Python(ctx); err != nil {
		return e, err
	}
	e.PythonPath, err = cached("engines", "engines.txt", func(dir, list string) error {
		return tool(ctx, "", e.Python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--target", dir, "-r", list)
	})
	if err != nil {
		return e, err
	}
	libs, err := jars(ctx, "spark")
	if err != nil {
		return e, err
	}
	if e.Jars, err = filepath.Glob(filepath.Join(libs, "*.jar")); err != nil {
		return e, err
	}
	e.Node, err = node(ctx, "reader", "reader.json")
	return e, err
}

// Environment are the variables that .ci/engines looks for.
func (e Engines) Environment() []string {
	return []string{"PYTHON=" + e.Python, "PYTHONPATH=" + e.PythonPath, "SPARK_JARS=" + strings.Join(e.Jars, ","), "READER=" + e.Node}
}
