package main

import (
	"encoding/base64"
	"strings"

	"aileron.example/samples/host"
)

// kept are the headers of a draft that an update carries over.
var kept = []string{"To", "Cc", "Bcc", "Reply-To", "Subject", "In-Reply-To", "References"}

// compose builds a message from the call's to, cc, subject and body.
func compose(call host.Call) (host.Object, error) {
	to, err := call.Line("to")
	if err != nil {
		return nil, err
	}
	subject, err := call.Line("subject")
	if err != nil {
		return nil, err
	}
	headers := [][2]string{{"To", to}}
	if call.Text("cc") != "" {
		cc, err := call.Line("cc")
		if err != nil {
			return nil, err
		}
		headers = append(headers, [2]string{"Cc", cc})
	}
	headers = append(headers, [2]string{"Subject", subject})
	return raw(headers, call.Text("body")), nil
}

// recompose builds the message that replaces a draft: its own headers and text, except where the call says otherwise.
func recompose(call host.Call, payload host.Object) (host.Object, error) {
	text, found := plainText(payload)
	if !found || len(list(payload["parts"])) > 0 {
		return nil, host.Wrong(call.Op, "only drafts of plain text can be updated")
	}
	headers := [][2]string{}
	for _, name := range kept {
		value := header(payload, name)
		if argument := strings.ToLower(name); (name == "To" || name == "Subject") && call.Text(argument) != "" {
			line, err := call.Line(argument)
			if err != nil {
				return nil, err
			}
			value = line
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			return nil, host.Wrong(call.Op, "the draft's "+name+" is not one line")
		}
		if value != "" {
			headers = append(headers, [2]string{name, value})
		}
	}
	if call.Has("body") {
		text = call.Text("body")
	}
	return raw(headers, text), nil
}

// raw is the upstream form of a message: RFC 5322 text with UTF-8 headers (RFC 6532), in base64url.
func raw(headers [][2]string, body string) host.Object {
	var text strings.Builder
	for _, header := range headers {
		text.WriteString(header[0] + ": " + header[1] + "\r\n")
	}
	text.WriteString("MIME-Version: 1.0\r\n")
	text.WriteString("Content-Type: text/plain; charset=UTF-8\r\n")
	text.WriteString("Content-Transfer-Encoding: 8bit\r\n\r\n")
	text.WriteString(body)
	return host.Object{"raw": base64.URLEncoding.EncodeToString([]byte(text.String()))}
}

// plainText finds the first text/plain part of a message and decodes it.
func plainText(part host.Object) (string, bool) {
	if kind, _ := part["mimeType"].(string); kind == "text/plain" {
		data, _ := object(part["body"])["data"].(string)
		text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(data, "="))
		return string(text), err == nil
	}
	for _, child := range list(part["parts"]) {
		if text, found := plainText(object(child)); found {
			return text, true
		}
	}
	return "", false
}

func header(payload host.Object, name string) string {
	for _, entry := range list(payload["headers"]) {
		if title, _ := object(entry)["name"].(string); strings.EqualFold(title, name) {
			value, _ := object(entry)["value"].(string)
			return value
		}
	}
	return ""
}

func object(value any) host.Object {
	found, _ := value.(host.Object)
	return found
}

func list(value any) []any {
	found, _ := value.([]any)
	return found
}
