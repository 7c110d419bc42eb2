package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"text/template"
)

// The plot's measures, in pixels.
const (
	plotWidth  = 760
	labelWidth = 150
	barsWidth  = 300
	barHeight  = 16
	barStep    = 22
	titleStep  = 34
)

// bar is one bar of the plot.
type bar struct {
	Y, Width    int
	Label, Text string
}

// block is a group of bars, which share a scale: the widest is the most CPU time.
type block struct {
	Y     int
	Title string
	Bars  []bar
}

type picture struct {
	Width, Height, LabelWidth, BarHeight int
	Blocks                               []block
}

var svg = template.Must(template.New("svg").Funcs(template.FuncMap{
	"text": func(s string) (string, error) {
		var b strings.Builder
		err := xml.EscapeText(&b, []byte(s))
		return b.String(), err
	},
	"add": func(a, b int) int { return a + b },
}).Parse(`<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="{{.Height}}" viewBox="0 0 {{.Width}} {{.Height}}" role="img">
<title>CPU time per record</title>
<style>
text { font: 12px system-ui, sans-serif; fill: #24292f; }
.title { font-weight: 600; }
.bar { fill: #0969da; }
@media (prefers-color-scheme: dark) { text { fill: #c9d1d9; } .bar { fill: #58a6ff; } }
</style>
{{- $p := .}}{{range .Blocks}}
<text class="title" x="0" y="{{.Y}}">{{text .Title}}</text>
{{- range .Bars}}
<text x="{{add $p.LabelWidth -8}}" y="{{add .Y 12}}" text-anchor="end">{{text .Label}}</text>
<rect class="bar" x="{{$p.LabelWidth}}" y="{{.Y}}" width="{{.Width}}" height="{{$p.BarHeight}}" rx="2"/>
<text x="{{add $p.LabelWidth (add .Width 8)}}" y="{{add .Y 12}}">{{text .Text}}</text>
{{- end}}{{end}}
</svg>
`))

// plot draws the CPU time per record of each line, and writes the rate beside it.
func plot(w io.Writer, sections []section) error {
	p := picture{Width: plotWidth, LabelWidth: labelWidth, BarHeight: barHeight}
	for _, s := range sections {
		p.Height += titleStep
		b := block{Y: p.Height - 12, Title: s.Title + ": CPU time a record"}
		most := 0.0
		for _, l := range s.Lines {
			most = max(most, l.CPU)
		}
		for _, l := range s.Lines {
			width := 1
			if most > 0 {
				width = max(1, int(l.CPU/most*barsWidth))
			}
			b.Bars = append(b.Bars, bar{Y: p.Height, Width: width, Label: l.Label,
				Text: fmt.Sprintf("%s, %s records/s", duration(l.CPU), thousands(l.Rate))})
			p.Height += barStep
		}
		p.Blocks = append(p.Blocks, b)
	}
	return svg.Execute(w, p)
}

// duration writes nanoseconds in a unit that suits them.
func duration(ns float64) string {
	switch {
	case ns < 10_000:
		return fmt.Sprintf("%.0f ns", ns)
	case ns < 10_000_000:
		return fmt.Sprintf("%.0f µs", ns/1e3)
	}
	return fmt.Sprintf("%.0f ms", ns/1e6)
}

// thousands writes a rate in a unit that suits it.
func thousands(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.2f M", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.0f k", v/1e3)
	}
	return fmt.Sprintf("%.0f", v)
}
