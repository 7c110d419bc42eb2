package restcatalog

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

// tableBody answers a load, a commit and a create.
type tableBody struct {
	MetadataLocation string             `json:"metadata-location"`
	Metadata         table.Metadata     `json:"metadata"`
	Config           iceberg.Properties `json:"config,omitempty"`
}

func (s *Server) loadTable(r *http.Request) (any, error) {
	tbl, err := s.cat.LoadTable(r.Context(), identOf(r))
	if err != nil {
		return nil, err
	}
	return tableBody{MetadataLocation: tbl.MetadataLocation(), Metadata: tbl.Metadata()}, nil
}

func (s *Server) dropTable(r *http.Request) (any, error) {
	return nil, s.cat.DropTable(r.Context(), identOf(r))
}

func (s *Server) createTable(r *http.Request) (any, error) {
	var body struct {
		Name        string                        `json:"name"`
		Schema      *iceberg.Schema               `json:"schema"`
		Location    string                        `json:"location"`
		Spec        *iceberg.UnboundPartitionSpec `json:"partition-spec"`
		StageCreate bool                          `json:"stage-create"`
		Properties  iceberg.Properties            `json:"properties"`
	}
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	switch {
	case body.Name == "" || body.Schema == nil:
		return nil, badRequest(errors.New("name or schema is missing"))
	case body.StageCreate:
		return nil, &Error{http.StatusNotAcceptable, "UnsupportedOperationException", "staged creation is not served"}
	}
	opts := []catalog.CreateTableOpt{catalog.WithProperties(body.Properties), catalog.WithLocation(body.Location)}
	if body.Spec != nil {
		opts = append(opts, catalog.WithPartitionSpec(&body.Spec.PartitionSpec)) // table.NewMetadata binds it
	}
	tbl, err := s.cat.CreateTable(r.Context(), append(namespaceOf(r), body.Name), body.Schema, opts...)
	if err != nil {
		return nil, err
	}
	return tableBody{MetadataLocation: tbl.MetadataLocation(), Metadata: tbl.Metadata()}, nil
}

func (s *Server) commitTable(r *http.Request) (any, error) {
	var body struct {
		Requirements table.Requirements `json:"requirements"`
		Updates      table.Updates      `json:"updates"`
	}
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	ident := identOf(r)
	// Who asks may go away; a request that was taken is carried out.
	ctx := context.WithoutCancel(r.Context())
	tbl, err := s.cat.LoadTable(ctx, ident)
	if err != nil {
		return nil, err
	}
	for _, req := range body.Requirements {
		if err := req.Validate(tbl.Metadata()); err != nil {
			return nil, conflict(err)
		}
	}
	if _, err := table.UpdateTableMetadata(tbl.Metadata(), body.Updates, tbl.MetadataLocation()); err != nil {
		return nil, badRequest(err)
	}
	meta, loc, err := s.cat.CommitTable(ctx, ident, body.Requirements, body.Updates)
	switch {
	case err == nil:
		return tableBody{MetadataLocation: loc, Metadata: meta}, nil
	case errors.Is(err, table.ErrCommitFailed) || isRequirement(err):
		return nil, conflict(err) // somebody else committed since the look
	case errors.Is(err, catalog.ErrNoSuchTable):
		return nil, err
	}
	return nil, &Error{http.StatusInternalServerError, "CommitStateUnknownException", err.Error()}
}

// isRequirement knows the bare error of a requirement that does not hold.
func isRequirement(err error) bool {
	return strings.HasPrefix(strings.ToLower(err.Error()), "requirement failed")
}

func conflict(err error) error {
	return &Error{http.StatusConflict, "CommitFailedException", fmt.Sprintf("commit failed: %s", err)}
}
