// The files connector of the sample suite. It speaks the shape of the Drive API to the sample service.
package main

import (
	"net/url"
	"strings"

	"aileron.example/samples/host"
)

var drive = host.API{Name: "Drive", Root: "/drive/v3", Credential: "api_key"}

// shown are the fields that an operator wants to see before something happens to a file.
const shown = "id,name,mimeType,description,size,parents,modifiedTime,owners,permissions,webViewLink"

func main() {
	host.Serve(map[string]host.Op{
		"list_files":        listFiles,
		"get_file_metadata": getFileMetadata,
		"move_file":         moveFile,
		"rename_file":       renameFile,
		"delete_file":       deleteFile,
	})
}

func listFiles(call host.Call) (host.Object, error) {
	query := url.Values{"fields": {"files(id,name,mimeType,parents)"}}
	if folder := call.Text("folder_id"); folder != "" {
		quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(folder)
		query.Set("q", "'"+quoted+"' in parents and trashed = false")
	}
	if limit := call.Text("limit"); limit != "" {
		query.Set("pageSize", limit)
	}
	return drive.Do(call, "GET", []string{"files"}, query, nil)
}

func getFileMetadata(call host.Call) (host.Object, error) {
	id, err := call.Required("file_id")
	if err != nil {
		return nil, err
	}
	fields := call.Text("fields")
	if fields == "" {
		fields = shown
	}
	return drive.Do(call, "GET", []string{"files", id}, url.Values{"fields": {fields}}, nil)
}

// moveFile takes the file out of every folder it is in, so that it ends up in one place.
func moveFile(call host.Call) (host.Object, error) {
	id, err := call.Required("file_id")
	if err != nil {
		return nil, err
	}
	folder, err := call.Required("folder_id")
	if err != nil {
		return nil, err
	}
	file, err := drive.Do(call, "GET", []string{"files", id}, url.Values{"fields": {"id,parents"}}, nil)
	if err != nil {
		return nil, err
	}
	query := url.Values{"addParents": {folder}, "fields": {"id,name,parents"}}
	if parents := others(file["parents"], folder); len(parents) > 0 {
		query.Set("removeParents", strings.Join(parents, ","))
	}
	return drive.Do(call, "PATCH", []string{"files", id}, query, host.Object{})
}

func renameFile(call host.Call) (host.Object, error) {
	id, err := call.Required("file_id")
	if err != nil {
		return nil, err
	}
	name, err := call.Line("name")
	if err != nil {
		return nil, err
	}
	fields := url.Values{"fields": {"id,name,parents"}}
	return drive.Do(call, "PATCH", []string{"files", id}, fields, host.Object{"name": name})
}

func deleteFile(call host.Call) (host.Object, error) {
	id, err := call.Required("file_id")
	if err != nil {
		return nil, err
	}
	if _, err := drive.Do(call, "DELETE", []string{"files", id}, nil, nil); err != nil {
		return nil, err
	}
	return host.Object{"id": id, "deleted": true}, nil
}

// others are the ids in a file's parents, except the one named.
func others(parents any, folder string) []string {
	found := []string{}
	listed, _ := parents.([]any)
	for _, parent := range listed {
		if id, _ := parent.(string); id != "" && id != folder {
			found = append(found, id)
		}
	}
	return found
}
