package host

import (
	"net/url"
	"strconv"
	"strings"
)

const shownBody = 2048

// API is one upstream interface, the root it lives under, and the credential its requests carry.
type API struct {
	Name       string
	Root       string
	Credential string
}

type request struct {
	Method     string            `json:"method"`
	URL        string            `json:"url"`
	Headers    map[string]string `json:"headers"`
	Body       string            `json:"body,omitempty"`
	Credential string            `json:"credential"`
}

// Do sends one request below the call's base_url and returns the JSON object that comes back.
// An answer without a body is an empty object.
func (a API) Do(call Call, method string, path []string, query url.Values, body Object) (Object, error) {
	base, err := call.Required("base_url")
	if err != nil {
		return nil, err
	}
	place, sound := join(path)
	if !sound {
		return nil, Wrong(call.Op, "an id cannot be "+path[len(path)-1])
	}
	out := request{
		Method:     method,
		URL:        strings.TrimSuffix(base, "/") + a.Root + place,
		Headers:    map[string]string{"Accept": "application/json"},
		Credential: a.Credential,
	}
	if len(query) > 0 {
		out.URL += "?" + query.Encode()
	}
	if body != nil {
		out.Headers["Content-Type"] = "application/json"
		out.Body = string(encode(body))
	}
	status, text, code := send(encode(out))
	if code != 0 {
		return nil, Wrong(call.Op, "http_request denied or failed (rc="+strconv.Itoa(int(code))+")")
	}
	Log("info", a.Name+" "+method+" "+strconv.Itoa(int(status)))
	if status < 200 || status > 299 {
		message := " API returned " + strconv.Itoa(int(status))
		if body := shorten(text); body != "" {
			message += ": " + body
		}
		return nil, a.failure(message)
	}
	answer := Object{}
	if len(text) == 0 {
		return answer, nil
	}
	if err := decode(text, &answer); err != nil || answer == nil {
		return nil, a.failure(" API did not answer with a JSON object")
	}
	return answer, nil
}

func (a API) failure(message string) error {
	return &Failure{Class: "external_api_error", Message: a.Name + message}
}

// join escapes every segment and refuses the two that no escaping tames, so that an id never climbs out of its place.
func join(path []string) (string, bool) {
	var text strings.Builder
	for _, segment := range path {
		if segment == "." || segment == ".." {
			return "", false
		}
		text.WriteString("/" + url.PathEscape(segment))
	}
	return text.String(), true
}

func shorten(body []byte) string {
	text := strings.ToValidUTF8(strings.TrimSpace(string(body)), "\uFFFD")
	if len(text) <= shownBody {
		return text
	}
	return strings.ToValidUTF8(text[:shownBody], "") + "…"
}
