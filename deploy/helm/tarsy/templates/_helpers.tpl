{{- define "tarsy.name" -}}
{{- if contains "tarsy" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-tarsy{{ end -}}
{{- end }}

{{/* The labels that select the pods of a component: (list . "tarsy") */}}
{{- define "tarsy.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ index . 1 }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
{{- end }}

{{- define "tarsy.labels" -}}
{{- $root := index . 0 -}}
{{ include "tarsy.selector" . }}
app.kubernetes.io/part-of: tarsy
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ $root.Chart.Name }}-{{ $root.Chart.Version }}
{{- end }}

{{- define "tarsy.secret" -}}
{{- if .Values.secret.existing }}{{ .Values.secret.existing }}
{{- else if .Values.secret.values }}{{ include "tarsy.name" . }}
{{- else }}{{ fail "Set secret.existing to the name of a Secret, or secret.values to its content (see docs/production.md)." }}
{{- end -}}
{{- end }}

{{/* tarsy.yaml: the tool server of this chart, and over it the operator's configuration. */}}
{{- define "tarsy.config" -}}
{{- $config := dict -}}
{{- if .Values.kubernetesMcpServer.enabled -}}
{{- $url := printf "http://%s-kubernetes-mcp-server:8080/mcp" (include "tarsy.name" .) -}}
{{- $config = dict "mcp_servers" (dict "kubernetes-server" (dict "transport" (dict "type" "http" "url" $url))) -}}
{{- end -}}
{{- toYaml (mustMergeOverwrite $config (deepCopy .Values.config)) -}}
{{- end }}

{{- define "tarsy.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ . }}
runAsGroup: {{ . }}
fsGroup: {{ . }}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "tarsy.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "tarsy.dnsEgress" -}}
- to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}}]
  ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]
{{- end }}
