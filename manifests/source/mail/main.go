// The mail connector of the sample suite. It speaks the shape of the Gmail API to the sample service.
package main

import (
	"net/url"

	"aileron.example/samples/host"
)

var gmail = host.API{Name: "Gmail", Root: "/gmail/v1/users/me", Credential: "oauth2"}

func main() {
	host.Serve(map[string]host.Op{
		"list_drafts":  listDrafts,
		"get_draft":    getDraft,
		"create_draft": createDraft,
		"update_draft": updateDraft,
		"send_draft":   sendDraft,
		"delete_draft": deleteDraft,
		"send_mail":    sendMail,
	})
}

func listDrafts(call host.Call) (host.Object, error) {
	query := url.Values{}
	if limit := call.Text("limit"); limit != "" {
		query.Set("maxResults", limit)
	}
	return gmail.Do(call, "GET", []string{"drafts"}, query, nil)
}

// getDraft adds what somebody needs to judge the whole draft: its text, its attachments and its other parts.
func getDraft(call host.Call) (host.Object, error) {
	id, err := call.Required("id")
	if err != nil {
		return nil, err
	}
	draft, err := fetch(call, id)
	if err != nil {
		return nil, err
	}
	describe(object(draft["message"]))
	return draft, nil
}

func createDraft(call host.Call) (host.Object, error) {
	message, err := compose(call)
	if err != nil {
		return nil, err
	}
	return gmail.Do(call, "POST", []string{"drafts"}, nil, host.Object{"message": message})
}

// updateDraft keeps what the call does not change: upstream, an update replaces the whole draft.
func updateDraft(call host.Call) (host.Object, error) {
	id, err := call.Required("draft_id")
	if err != nil {
		return nil, err
	}
	draft, err := fetch(call, id)
	if err != nil {
		return nil, err
	}
	message, err := recompose(call, object(object(draft["message"])["payload"]))
	if err != nil {
		return nil, err
	}
	return gmail.Do(call, "PUT", []string{"drafts", id}, nil, host.Object{"message": message})
}

func sendDraft(call host.Call) (host.Object, error) {
	id, err := call.Required("draft_id")
	if err != nil {
		return nil, err
	}
	return gmail.Do(call, "POST", []string{"drafts", "send"}, nil, host.Object{"id": id})
}

func deleteDraft(call host.Call) (host.Object, error) {
	id, err := call.Required("draft_id")
	if err != nil {
		return nil, err
	}
	if _, err := gmail.Do(call, "DELETE", []string{"drafts", id}, nil, nil); err != nil {
		return nil, err
	}
	return host.Object{"id": id, "deleted": true}, nil
}

func sendMail(call host.Call) (host.Object, error) {
	message, err := compose(call)
	if err != nil {
		return nil, err
	}
	return gmail.Do(call, "POST", []string{"messages", "send"}, nil, message)
}

func fetch(call host.Call, id string) (host.Object, error) {
	return gmail.Do(call, "GET", []string{"drafts", id}, url.Values{"format": {"full"}}, nil)
}
