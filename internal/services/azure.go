package services

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"time"
)

// makeContainer sends the one request that iceberg-go does not make, signed with the emulator's key.
func makeContainer(ctx context.Context, addr, name string) error {
	path := "/" + azureAccount + "/" + name
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+addr+path+"?restype=container", nil)
	if err != nil {
		return err
	}
	date, version := time.Now().UTC().Format(http.TimeFormat), "2021-08-06"
	req.Header.Set("x-ms-date", date)
	req.Header.Set("x-ms-version", version)
	text := "PUT" + strings.Repeat("\n", 12) + "x-ms-date:" + date + "\nx-ms-version:" + version + "\n/" + azureAccount + path + "\nrestype:container"
	key, err := base64.StdEncoding.DecodeString(azureKey)
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	req.Header.Set("Authorization", "SharedKey "+azureAccount+":"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return send(req)
}
