// The ops of the connector. What they have in common with every other connector is in host.go.
package main

import "net/url"

func main() {
	serve(map[string]op{
		"get_note":     getNote,
		"publish_note": publishNote,
	})
}

// getNote only reads, so previews may call it.
func getNote(c call) (object, error) {
	place, err := notePlace(c)
	if err != nil {
		return nil, err
	}
	return c.send("GET", place, nil)
}

func publishNote(c call) (object, error) {
	place, err := notePlace(c)
	if err != nil {
		return nil, err
	}
	channel, err := c.required("channel")
	if err != nil {
		return nil, err
	}
	return c.send("POST", place+"/publish", object{"channel": channel})
}

// notePlace is the path of the note. Escaping keeps an id inside it, except for the two names that mean a folder.
func notePlace(c call) (string, error) {
	id, err := c.required("note_id")
	if err == nil && (id == "." || id == "..") {
		err = c.wrong("note_id is not valid")
	}
	return "/v1/notes/" + url.PathEscape(id), err
}
