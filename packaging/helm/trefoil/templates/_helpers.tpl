{{/* The name of all objects: the release's, which may have up to 40 bytes for the names of pods. */}}
{{- define "trefoil.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- define "trefoil.labels" -}}
{{ include "trefoil.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "trefoil.selector" -}}
app.kubernetes.io/name: trefoil
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* The address of the pod with a number, for other pods: (list $ number). */}}
{{- define "trefoil.address" -}}
{{- $ := index . 0 -}}
{{- $name := include "trefoil.name" $ -}}
{{ $name }}-{{ index . 1 }}.{{ $name }}-nodes.{{ $.Release.Namespace }}.svc.{{ $.Values.clusterDomain }}:7333
{{- end }}

{{/* The settings of all pods that follow from the values. */}}
{{- define "trefoil.settings" -}}
listen = "0.0.0.0:7333"
token-file = "/etc/trefoil/auth/token"
{{- if .Values.auth.operatorTokenKey }}
operator-token-file = "/etc/trefoil/auth/operator-token"
{{- end }}
{{- if .Values.auth.gossipKey }}
gossip-key-file = "/etc/trefoil/auth/gossip.key"
{{- end }}
{{- if .Values.insecure }}
insecure = true
{{- else }}
ca = "/etc/trefoil/tls/ca.crt"
cert = "/etc/trefoil/tls/tls.crt"
key = "/etc/trefoil/tls/tls.key"
{{- end }}
{{- range $key, $value := .Values.settings }}
{{ $key }} = {{ toJson $value }}
{{- end }}
{{- end }}
