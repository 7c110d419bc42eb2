package main

import (
	"context"
	"errors"
)

func proxyCommand(ctx context.Context, c *call) error { return errors.New("not yet") }

func (s *soak) throughProxy() (stop func(), err error) { return nil, errors.New("not yet") }
