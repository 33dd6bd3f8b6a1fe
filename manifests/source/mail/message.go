package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
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
		values := headerValues(payload, name)
		if argument := strings.ToLower(name); (name == "To" || name == "Subject") && call.Text(argument) != "" {
			line, err := call.Line(argument)
			if err != nil {
				return nil, err
			}
			values = []string{line}
		}
		for _, value := range values {
			if strings.ContainsAny(value, "\r\n\x00") {
				return nil, host.Wrong(call.Op, "the draft's "+name+" is not one line")
			}
			if value != "" {
				headers = append(headers, [2]string{name, value})
			}
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

// describe adds to a message what its headers do not say: "text" is the first plain text, "attachments" are all files by
// name, type and size, and "other_parts" is any other text that is sent with it, such as an HTML version.
func describe(message host.Object) {
	attachments := []any{}
	others := []any{}
	for _, part := range leaves(object(message["payload"])) {
		kind, _ := part["mimeType"].(string)
		name, _ := part["filename"].(string)
		text, readable := decoded(part)
		_, described := message["text"]
		switch {
		case name != "" || !strings.HasPrefix(kind, "text/") || !readable:
			if name == "" {
				name = "unnamed"
			}
			attachments = append(attachments, fmt.Sprintf("%s (%s, %s bytes)", name, kind, size(part)))
		case kind == "text/plain" && !described:
			message["text"] = text
		default:
			others = append(others, host.Object{"type": kind, "text": text})
		}
	}
	if len(attachments) > 0 {
		message["attachments"] = attachments
	} else {
		message["attachments"] = "none"
	}
	if len(others) > 0 {
		message["other_parts"] = others
	}
}

// leaves are the parts of a message that have content of their own, in order.
func leaves(part host.Object) []host.Object {
	children := list(part["parts"])
	body := object(part["body"])
	found := []host.Object{}
	if len(children) == 0 || body["data"] != nil || body["attachmentId"] != nil {
		found = append(found, part)
	}
	for _, child := range children {
		found = append(found, leaves(object(child))...)
	}
	return found
}

// plainText finds the first plain text of a message that is not an attachment.
func plainText(payload host.Object) (string, bool) {
	for _, part := range leaves(payload) {
		kind, _ := part["mimeType"].(string)
		if name, _ := part["filename"].(string); kind == "text/plain" && name == "" {
			return decoded(part)
		}
	}
	return "", false
}

func decoded(part host.Object) (string, bool) {
	body := object(part["body"])
	data, _ := body["data"].(string)
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(data, "="))
	return string(text), err == nil && body["attachmentId"] == nil
}

// size is the size of a part in bytes; what upstream says counts only if the content is not there.
func size(part host.Object) string {
	if text, readable := decoded(part); readable && text != "" {
		return fmt.Sprint(len(text))
	}
	if stated, ok := object(part["body"])["size"].(json.Number); ok {
		return stated.String()
	}
	return "unknown"
}

func headerValues(payload host.Object, name string) []string {
	values := []string{}
	for _, entry := range list(payload["headers"]) {
		if title, _ := object(entry)["name"].(string); strings.EqualFold(title, name) {
			value, _ := object(entry)["value"].(string)
			values = append(values, value)
		}
	}
	return values
}

func object(value any) host.Object {
	found, _ := value.(host.Object)
	return found
}

func list(value any) []any {
	found, _ := value.([]any)
	return found
}
